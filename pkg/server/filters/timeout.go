package filters

import (
	"context"
	"maps"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/server/request"
)

// readTime is the time for the client to read the answer to a request that has used all its
// time.
const readTime = 10 * time.Second

// tooLate is the message of a timeout.
const tooLate = "request did not complete within the allotted timeout"

// WithTimeout answers 504 if a request takes longer than a timeout. Its handler continues until it notices
// the end of its context; its answer is discarded. Requests without a time limit, such as watches, pass
// through. So do requests of 2014, whose steps end by themselves, and GETs of one object unless they may block: a goroutine for each would make them a quarter
// slower. A client may request a shorter timeout: ?timeout=1s.
func WithTimeout(next http.Handler, timeout time.Duration, getsWait bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		record := request.RecordOf(req.Context())
		info := &record.Info
		control := http.NewResponseController(w)
		if info.OwnTimeout && req.Method != http.MethodGet { // its steps may take longer together than the 10 seconds of 2014
			_ = control.SetWriteDeadline(time.Now().Add(timeout + readTime)) // a connection without deadlines needs none
		}
		if info.OwnTimeout || info.NoTimeout || (info.Verb == "get" && !getsWait && !info.GetMayBlock) {
			next.ServeHTTP(w, req)
			return
		}
		timeout, err := requestedTimeout(req, timeout)
		if err != nil {
			fail(w, req, err)
			return
		}
		_ = control.SetWriteDeadline(time.Now().Add(timeout + readTime))
		if req.ContentLength == 0 {
			_ = control.SetReadDeadline(time.Time{}) // the deadline was for the request
		}
		ctx, cancel := context.WithTimeout(req.Context(), timeout)
		defer cancel()
		own := req.WithContext(ctx)
		own.Header = maps.Clone(req.Header) // authentication changes the copy, while Fail may read the original
		answer, done := &timedResponse{connection: w, header: http.Header{}}, make(chan interface{}, 1)
		go func() {
			defer func() {
				reason := recover()
				if reason != nil && reason != http.ErrAbortHandler {
					reason = panicked{reason, debug.Stack()}
				}
				done <- reason
			}()
			growStack()
			next.ServeHTTP(answer, own)
		}()
		select {
		case reason := <-done:
			if reason != nil {
				panic(reason)
			}
		case <-ctx.Done():
			go func() { // from now on, only this goroutine can log a panic
				if failed, ok := (<-done).(panicked); ok {
					failed.log(own)
				}
			}()
			if answer.end() {
				panic(http.ErrAbortHandler)
			}
			late := &request.Context{Context: req.Context(), Record: request.Record{Server: record.Server}} // the handler still uses the other
			fail(w, req.WithContext(late), &api.Error{Kind: api.Timeout, Message: tooLate})
		}
	})
}

// growStack lets the stack of a new goroutine grow to what most requests need, at once: doubled as it is used, it would be copied
// five times, a tenth of what the POST of a pod takes.
//
//go:noinline
func growStack() byte {
	var room [20 << 10]byte
	return room[len(os.Args)%len(room)] // an index that the compiler does not know keeps the room
}

// requestedTimeout returns the timeout in the query, bounded by a maximum, which is the default.
func requestedTimeout(req *http.Request, most time.Duration) (time.Duration, error) {
	if !strings.Contains(req.URL.RawQuery, "timeout=") {
		return most, nil
	}
	text := req.URL.Query().Get("timeout")
	if text == "" {
		return most, nil
	}
	timeout, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, &api.Error{Kind: api.Invalid, Message: "invalid timeout specified in the request URL - " + err.Error()}
	case timeout <= 0:
		return most, nil
	}
	return min(timeout, most), nil
}

// timedResponse is the answer to a request until its timeout. After that, nothing reaches the connection, which
// may already have the next request. So it has no Unwrap.
type timedResponse struct {
	connection http.ResponseWriter
	header     http.Header // until the answer begins: the connection's belongs to the answer of a timeout

	mu          sync.Mutex // guards what follows, and the answer
	begun, over bool
}

func (r *timedResponse) Header() http.Header { return r.header }

// WriteHeader begins the answer. It drops informational answers: the answer comes after them.
func (r *timedResponse) WriteHeader(status int) {
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		return
	}
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

// end marks the timeout, and returns whether the answer has begun.
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
