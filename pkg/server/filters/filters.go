// Package filters has the handlers of the chain, one a file. Each does one thing, and lets the
// next one do the rest. One that has nothing to do is not put into the chain: it returns the
// next one.
package filters

import (
	"net/http"
	"time"

	"kube2014/pkg/server/request"
)

// fail answers a request with an error, in the words of the server that it is for.
func fail(w http.ResponseWriter, req *http.Request, err error) {
	request.RecordOf(req.Context()).Server.Fail(w, req, err)
}

// response records an answer for the filters that look at it when it is complete: logging, metrics, and
// the recovery of panics. WithRequestInfo makes it.
type response struct {
	http.ResponseWriter
	status int   // 0 before it has begun; the log shows so of one that never did
	size   int64 // in bytes

	start  time.Time
	served time.Duration // as took says; 0 before
}

// recorded returns an answer that is recorded: itself, unless a trace is around it.
func recorded(w http.ResponseWriter) *response {
	if answer, ok := w.(*response); ok {
		return answer
	}
	return &response{ResponseWriter: w, start: time.Now()}
}

// code returns the status of a complete answer: one that says none has 200.
func (r *response) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// took returns the time from the start to the first time that somebody wants to know it: then the
// request has been served.
func (r *response) took() time.Duration {
	if r.served == 0 {
		r.served = time.Since(r.start)
	}
	return r.served
}

func (r *response) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write begins the answer with status 200 if nothing else has been said.
func (r *response) Write(piece []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(piece)
	r.size += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
