package trace

import (
	"context"
	"net/http"
	"sync"

	"kube2014/pkg/api"
	"kube2014/pkg/util/workqueue"
)

// Work traces the work of a part of the cluster on a key, if that makes requests: with a line before the
// first request, and one after the last. The client needs RoundTripper.
func (t *Tracer) Work(part string) func(workqueue.Sync) workqueue.Sync {
	if t == nil {
		return nil
	}
	return func(next workqueue.Sync) workqueue.Sync {
		return func(ctx context.Context, key string) error {
			text, began, written := part+".sync("+api.Quote(key)+")", t.now(), false
			var first sync.Once
			onRequest := func() { first.Do(func() { written = true; t.line("", text) }) }
			err := next(context.WithValue(ctx, workKey{}, onRequest), key)
			first.Do(func() {}) // later requests are not of this work
			result := "ok"
			if err != nil {
				result = cut(failure(err), maxResult)
			}
			if written {
				t.line(inWords(t.now().Sub(began)), text+" → "+result)
			}
			return err
		}
	}
}

// workKey is the key of a function that is called for each request of some work.
type workKey struct{}

// line writes a line outside of a request.
func (t *Tracer) line(took, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeLocked(took, 0, text)
}

// RoundTripper reports the requests of a client to their work.
func (t *Tracer) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return orNext[http.RoundTripper](t, next, roundTripper{next})
}

type roundTripper struct{ http.RoundTripper }

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if onRequest, ok := req.Context().Value(workKey{}).(func()); ok {
		onRequest()
	}
	return r.RoundTripper.RoundTrip(req)
}
