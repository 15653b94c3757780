package filters

import (
	"context"
	"maps"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/server/request"
)

// answerTime is how long a client has to read the answer to a request that has used all
// its time.
const answerTime = 10 * time.Second

// WithTimeout answers 504 if a request takes longer than a time. What works on it goes on until
// it notices that its context has ended, and its answer goes nowhere. Requests that may take
// longer, such as watches, are let through. So are gets of one object if they wait for nobody:
// a goroutine for each would make them a quarter slower.
func WithTimeout(next http.Handler, backend API, timeout time.Duration, getsWait bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if info := request.InfoFrom(req.Context()); info.Unlimited || (info.Verb == "get" && !getsWait) {
			next.ServeHTTP(w, req)
			return
		}
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Now().Add(timeout + answerTime)) // a connection without deadlines needs none
		if req.ContentLength == 0 {
			_ = control.SetReadDeadline(time.Time{}) // it was for the request
		}
		ctx, cancel := context.WithTimeout(req.Context(), timeout)
		defer cancel()
		answer, done := &timedResponse{ResponseWriter: w, header: http.Header{}}, make(chan *panicked, 1)
		go func() {
			defer func() {
				if reason := recover(); reason != nil {
					done <- &panicked{reason, debug.Stack()}
					return
				}
				done <- nil
			}()
			next.ServeHTTP(answer, req.WithContext(ctx))
		}()
		select {
		case failed := <-done:
			if failed != nil {
				panic(*failed)
			}
		case <-ctx.Done():
			answer.mu.Lock()
			defer answer.mu.Unlock()
			answer.over = true
			if answer.begun {
				panic(http.ErrAbortHandler)
			}
			backend.Fail(w, req, &api.Error{Kind: api.Timeout, Message: "request did not complete within the allotted timeout"})
		}
	})
}

// timedResponse is the answer to a request as long as there is time for it.
type timedResponse struct {
	http.ResponseWriter
	header http.Header // until the answer begins: the other one belongs to who says that the time is over

	mu          sync.Mutex // guards what follows, and the answer
	begun, over bool
}

func (r *timedResponse) Header() http.Header { return r.header }

func (r *timedResponse) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(status)
}

func (r *timedResponse) begin(status int) {
	if r.begun || r.over {
		return
	}
	r.begun = true
	maps.Copy(r.ResponseWriter.Header(), r.header)
	r.ResponseWriter.WriteHeader(status)
}

func (r *timedResponse) Write(piece []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(http.StatusOK)
	if r.over {
		return 0, http.ErrHandlerTimeout
	}
	return r.ResponseWriter.Write(piece)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *timedResponse) Unwrap() http.ResponseWriter { return r.ResponseWriter }
