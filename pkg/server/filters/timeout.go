package filters

import (
	"context"
	"maps"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/server/request"
)

// readTime is how long a client has to read the answer to a request that has used all
// its time.
const readTime = 10 * time.Second

// tooLate is the error then.
const tooLate = "request did not complete within the allotted timeout"

// WithTimeout answers 504 if a request takes longer than a time. What works on it goes on until
// it notices that its context has ended, and its answer goes nowhere. Requests that may take
// longer, such as watches, are let through. So are gets of one object if they wait for nobody:
// a goroutine for each would make them a quarter slower. A client may ask for less time: ?timeout=1s.
func WithTimeout(next http.Handler, timeout time.Duration, getsWait bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := &request.RecordOf(req.Context()).Info
		if info.KeepsTime || info.Unlimited || (info.Verb == "get" && !getsWait) {
			next.ServeHTTP(w, req)
			return
		}
		timeout, err := askedTimeout(req, timeout)
		if err != nil {
			fail(w, req, err)
			return
		}
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Now().Add(timeout + readTime)) // a connection without deadlines needs none
		if req.ContentLength == 0 {
			_ = control.SetReadDeadline(time.Time{}) // it was for the request
		}
		ctx, cancel := context.WithTimeout(req.Context(), timeout)
		defer cancel()
		own := req.WithContext(ctx)
		own.Header = maps.Clone(req.Header) // authentication changes it, while Fail may read the other one
		answer, done := &timedResponse{connection: w, header: http.Header{}}, make(chan interface{}, 1)
		go func() {
			defer func() {
				reason := recover()
				if reason != nil && reason != http.ErrAbortHandler {
					reason = panicked{reason, debug.Stack()}
				}
				done <- reason
			}()
			next.ServeHTTP(answer, own)
		}()
		select {
		case reason := <-done:
			if reason != nil {
				panic(reason)
			}
		case <-ctx.Done():
			go func() { // nobody else hears of a panic from now on
				if failed, ok := (<-done).(panicked); ok {
					failed.log(own)
				}
			}()
			if answer.end() {
				panic(http.ErrAbortHandler)
			}
			fail(w, req, &api.Error{Kind: api.Timeout, Message: tooLate})
		}
	})
}

// askedTimeout returns how long a request may take, which is at most a time.
func askedTimeout(req *http.Request, most time.Duration) (time.Duration, error) {
	if !strings.Contains(req.URL.RawQuery, "timeout=") {
		return most, nil
	}
	asked := req.URL.Query().Get("timeout")
	if asked == "" {
		return most, nil
	}
	timeout, err := time.ParseDuration(asked)
	switch {
	case err != nil:
		return 0, &api.Error{Kind: api.Invalid, Message: "invalid timeout specified in the request URL - " + err.Error()}
	case timeout <= 0:
		return most, nil
	}
	return min(timeout, most), nil
}

// timedResponse is the answer to a request as long as there is time for it. Then nothing of it
// reaches the connection, which may already have the next request. So it has no Unwrap.
type timedResponse struct {
	connection http.ResponseWriter
	header     http.Header // until the answer begins: the other one belongs to who says that the time is over

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
	maps.Copy(r.connection.Header(), r.header)
	r.connection.WriteHeader(status)
}

// end says that the time is over, and returns whether the answer has begun.
func (r *timedResponse) end() (begun bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return r.begun
}

func (r *timedResponse) Write(piece []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(http.StatusOK)
	if r.over {
		return 0, http.ErrHandlerTimeout
	}
	return r.connection.Write(piece)
}

// FlushError implements what http.ResponseController looks for.
func (r *timedResponse) FlushError() error {
	return r.control(func(connection *http.ResponseController) error {
		r.begin(http.StatusOK)
		return connection.Flush()
	})
}

// SetReadDeadline implements what http.ResponseController looks for.
func (r *timedResponse) SetReadDeadline(deadline time.Time) error {
	return r.control(func(connection *http.ResponseController) error { return connection.SetReadDeadline(deadline) })
}

// SetWriteDeadline implements what http.ResponseController looks for.
func (r *timedResponse) SetWriteDeadline(deadline time.Time) error {
	return r.control(func(connection *http.ResponseController) error { return connection.SetWriteDeadline(deadline) })
}

func (r *timedResponse) control(do func(connection *http.ResponseController) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return http.ErrHandlerTimeout
	}
	return do(http.NewResponseController(r.connection))
}
