package trace

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// Handler traces requests and lets them through one at a time: a slow client
// delays all others, but not one whose answer is a stream, from its first flush on. The
// calls that are made for the stream stand where they happen.
// A trace names who answers in the end: last, or, if that is nil, next.
func (t *Tracer) Handler(next, last http.Handler) http.Handler {
	if last == nil {
		last = next
	}
	return &handler{t, next, last}
}

// reviewed is where tokens are sent in bodies.
const reviewed = "/apis/authentication.k8s.io/"

type handler struct {
	t    *Tracer
	next http.Handler
	last http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h.t.turn.Lock()
	release := sync.OnceFunc(h.t.turn.Unlock)
	defer release()
	c := h.t.begin(req.Method + " " + cut(req.RequestURI, maxFailure) + part(req) + " to " + declarer(h.last, "ServeHTTP") + ".ServeHTTP")
	result := "panic"
	defer func() { h.t.end(c, result) }()
	h.next.ServeHTTP(&response{ResponseWriter: w, isSecret: strings.HasPrefix(req.URL.Path, reviewed), end: func(result string) { h.t.end(c, result) }, release: release}, req)
	result = "an empty answer"
}

// ofParts is what the user agents of the parts of a cluster begin with.
const ofParts = "kube2014-"

// part names the part of the cluster that sends a request.
func part(req *http.Request) string {
	if name, ok := strings.CutPrefix(req.UserAgent(), ofParts); ok {
		return " by " + cut(name, maxFailure)
	}
	return ""
}

// response ends the trace of its request when the answer is written, so that the
// server's log line comes after it.
type response struct {
	http.ResponseWriter
	isSecret bool // an error may repeat what was sent
	status   int
	end      func(result string) // is nil once it was called
	release  func()              // ends the turn of the request
}

func (r *response) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(body []byte) (int, error) {
	n, err := r.ResponseWriter.Write(body)
	if r.end != nil {
		r.end(r.answer(body))
		r.end = nil
	}
	return n, err
}

// FlushError implements what http.ResponseController looks for: an answer that is flushed is
// a stream, which may take hours.
func (r *response) FlushError() error {
	err := http.NewResponseController(r.ResponseWriter).Flush()
	if r.end != nil {
		r.end(r.head() + ", a stream of " + r.mediaType())
		r.end = nil
	}
	r.release()
	return err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// answer describes an answer: the text of an error without secrets, the size of anything else.
func (r *response) answer(body []byte) string {
	if r.status >= http.StatusBadRequest && !r.isSecret {
		return fmt.Sprintf("%d %s", r.status, cut(string(body), maxFailure))
	}
	size := r.Header().Get("Content-Length")
	if size == "" {
		size = fmt.Sprint(len(body))
	}
	return r.head() + ", " + size + " bytes of " + r.mediaType()
}

func (r *response) head() string {
	status := cmp.Or(r.status, http.StatusOK)
	return fmt.Sprint(status, " ", http.StatusText(status))
}

func (r *response) mediaType() string {
	kind, _, _ := strings.Cut(r.Header().Get("Content-Type"), ";")
	return kind
}
