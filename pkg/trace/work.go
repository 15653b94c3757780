package trace

import (
	"context"
	"net/http"
	"sync"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/util/workqueue"
)

// Work traces the work of a part of the cluster on a key, if that makes requests: one line stands
// before the first one, and one after the last. The requests need RoundTripper.
func (t *Tracer) Work(part string) func(workqueue.Sync) workqueue.Sync {
	return func(next workqueue.Sync) workqueue.Sync {
		return func(ctx context.Context, key string) error {
			w := &work{text: part + ".sync(" + api.Quote(key) + ")", tracer: t, began: t.now()}
			err := next(context.WithValue(ctx, workKey{}, w), key)
			w.end(err)
			return err
		}
	}
}

type workKey struct{}

// work is that on one key.
type work struct {
	text   string
	tracer *Tracer
	began  time.Time
	asked  sync.Once
	told   bool
}

// ask says that the work makes a request.
func (w *work) ask() {
	w.asked.Do(func() {
		w.told = true
		w.tracer.line("", w.text)
	})
}

func (w *work) end(err error) {
	w.asked.Do(func() {}) // a request that comes now is not of this work
	if !w.told {
		return
	}
	result := "ok"
	if err != nil {
		result = failure(err)
	}
	w.tracer.line(inWords(w.tracer.now().Sub(w.began)), w.text+" → "+result)
}

// line writes a line that is no call of a request.
func (t *Tracer) line(took, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeLocked(took, 0, text)
}

// RoundTripper lets a client say of which work its requests are.
func (t *Tracer) RoundTripper(next http.RoundTripper) http.RoundTripper { return roundTripper{next} }

type roundTripper struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if w, ok := req.Context().Value(workKey{}).(*work); ok {
		w.ask()
	}
	return r.next.RoundTrip(req)
}
