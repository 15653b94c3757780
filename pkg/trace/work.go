package trace

import (
	"context"
	"net/http"
	"sync"

	"kube2014/pkg/api"
	"kube2014/pkg/util/workqueue"
)

// Work traces the work of a part of the cluster on a key, if that makes requests: one line stands
// before the first one, and one after the last. The requests need RoundTripper.
func (t *Tracer) Work(part string) func(workqueue.Sync) workqueue.Sync {
	if t == nil {
		return nil
	}
	return func(next workqueue.Sync) workqueue.Sync {
		return func(ctx context.Context, key string) error {
			text, began, told := part+".sync("+api.Quote(key)+")", t.now(), false
			var first sync.Once
			asks := func() { first.Do(func() { told = true; t.line("", text) }) }
			err := next(context.WithValue(ctx, asksKey{}, asks), key)
			first.Do(func() {}) // a request that comes now is not of this work
			result := "ok"
			if err != nil {
				result = cut(failure(err), maxResult)
			}
			if told {
				t.line(inWords(t.now().Sub(began)), text+" → "+result)
			}
			return err
		}
	}
}

// asksKey is the key of a function that is called when work makes a request.
type asksKey struct{}

// line writes a line that is no call of a request.
func (t *Tracer) line(took, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeLocked(took, 0, text)
}

// RoundTripper lets a client say of which work its requests are.
func (t *Tracer) RoundTripper(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return roundTripper{next}
}

type roundTripper struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if asks, ok := req.Context().Value(asksKey{}).(func()); ok {
		asks()
	}
	return r.RoundTripper.RoundTrip(req)
}
