// Package filters has the handlers of the chain, one per file. Each does one thing, and calls
// the next one. A constructor returns the next handler itself if there is nothing to do.
package filters

import (
	"bufio"
	"cmp"
	"net"
	"net/http"
	"time"

	"kube2014/pkg/server/request"
)

// fail answers a request with an error, in the format of its server.
func fail(w http.ResponseWriter, req *http.Request, err error) {
	request.RecordOf(req.Context()).Server.Fail(w, req, err)
}

// response records an answer for the filters that use it afterwards: logging, metrics, and the recovery of
// panics. WithRequestInfo creates it.
type response struct {
	http.ResponseWriter
	status int   // 0 until the answer begins; the log shows 0 if it never does
	size   int64 // in bytes

	start  time.Time
	served time.Duration // handling time; 0 until the first read
}

// recorded returns the response itself, or a new one around a trace.
func recorded(w http.ResponseWriter) *response {
	if answer, ok := w.(*response); ok {
		return answer
	}
	return &response{ResponseWriter: w, start: time.Now()}
}

// code returns the status of a complete answer. The default is 200.
func (r *response) code() int { return cmp.Or(r.status, http.StatusOK) }

// took returns the handling time: that from the start to the first call of took.
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

// Write begins the answer with status 200 if it has not begun.
func (r *response) Write(piece []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	n, err := r.ResponseWriter.Write(piece)
	r.size += int64(n)
	return n, err
}

// Hijack implements what http.ResponseController looks for. The connection is given away to speak another protocol.
func (r *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	connection, buffered, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil {
		r.status = cmp.Or(r.status, http.StatusSwitchingProtocols)
	}
	return connection, buffered, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
