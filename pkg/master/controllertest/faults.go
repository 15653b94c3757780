package controllertest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault calls next for a request, or answers it itself.
type Fault = func(w http.ResponseWriter, req *http.Request, next http.Handler)

// Losses are ways to lose the answer to a request.
var Losses = map[string]Fault{
	"it was done":     LoseAnswer,
	"it was not done": func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
	"it was an error of the server": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), req)
		http.Error(w, "bad gateway", http.StatusBadGateway)
	},
}

// LoseAnswer is a Fault that lets the server do what is asked, and cuts the connection then.
func LoseAnswer(_ http.ResponseWriter, req *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), req)
	panic(http.ErrAbortHandler)
}

// Refuse answers with a status.
func Refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
}

// IsControllers reports whether a request is one of a controller's, of a method.
func IsControllers(req *http.Request, method string) bool {
	return req.UserAgent() != userAgent && req.Method == method
}

// IsWatch reports whether a request is a watch of a controller's, for objects whose plural is at the end of its path.
func IsWatch(req *http.Request, plural string) bool {
	return req.UserAgent() != userAgent && req.URL.Query().Get("watch") != "" && strings.HasSuffix(req.URL.Path, plural)
}

// InterceptWrites lets a function see each write of the controllers that has a text in its path, counted from 1.
func (b *Bench) InterceptWrites(path string, between func(number int, w http.ResponseWriter, req *http.Request, next http.Handler)) {
	var count atomic.Int64
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.Method == http.MethodGet || req.UserAgent() == userAgent || !strings.Contains(req.URL.Path, path) {
			next.ServeHTTP(w, req)
			return
		}
		between(int(count.Add(1)), w, req, next)
	})
}

// RefuseDeletes refuses the deletes of the controllers that have a text in their path.
func (b *Bench) RefuseDeletes(path string) {
	b.InterceptWrites(path, func(_ int, w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.Method == http.MethodDelete {
			Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "protected")
			return
		}
		next.ServeHTTP(w, req)
	})
}

// BlindTo lets the controllers' watches of a kind say nothing, after the first list.
func (b *Bench) BlindTo(plural string) {
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if IsWatch(req, "/"+plural) {
			w.(http.Flusher).Flush()
			<-req.Context().Done()
			return
		}
		next.ServeHTTP(w, req)
	})
}

// heldWriter waits before it writes.
type heldWriter struct {
	http.ResponseWriter
	wait func()
}

// Hold returns a writer that calls a function before each write.
func Hold(w http.ResponseWriter, wait func()) http.ResponseWriter { return heldWriter{w, wait} }

// Write implements http.ResponseWriter.
func (w heldWriter) Write(data []byte) (int, error) {
	w.wait()
	return w.ResponseWriter.Write(data)
}

// Unwrap is for an http.ResponseController.
func (w heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w heldWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// Random is a source of random numbers that several goroutines may use.
type Random struct {
	mu     sync.Mutex
	random *rand.Rand // guarded by mu
}

// NewRandom returns the source of a seed and a stream.
func NewRandom(seed, stream uint64) *Random {
	return &Random{random: rand.New(rand.NewPCG(seed, stream))}
}

// IntN returns a number below n.
func (r *Random) IntN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(n)
}

// Milliseconds returns a time below a number of milliseconds.
func (r *Random) Milliseconds(most int) time.Duration {
	return time.Duration(r.IntN(most)) * time.Millisecond
}

// Faults lets five of a number of requests of the controllers go wrong, and half of their watches be late. A request whose sender
// has given up is not served any more: that one may come late is more than can be promised.
func (r *Random) Faults(of int) Fault {
	return func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.UserAgent() == userAgent {
			next.ServeHTTP(w, req)
			return
		}
		if IsWatch(req, "") && r.IntN(2) == 0 { // the copy is late, by more and more
			w = Hold(w, func() { time.Sleep(r.Milliseconds(500)) })
		}
		switch r.IntN(of) {
		case 0:
			LoseAnswer(w, req, next)
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			Refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "by chance")
			return
		case 3:
			Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "by chance")
			return
		case 4:
			body, err := io.ReadAll(req.Body) // after that the server sees when the sender goes
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			time.Sleep(r.Milliseconds(3000))
			if req.Context().Err() != nil {
				panic(http.ErrAbortHandler)
			}
		}
		next.ServeHTTP(w, req)
	}
}
