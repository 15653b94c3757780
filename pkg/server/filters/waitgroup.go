package filters

import (
	"net/http"

	"k8s.io/apimachinery/pkg/util/waitgroup"

	"kube2014/pkg/api"
)

// WithWaitGroup counts the requests in flight, including watches. When the server waits for them, which it does
// when it ends, new requests on open connections are refused.
func WithWaitGroup(next http.Handler, inFlight *waitgroup.SafeWaitGroup) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if inFlight.Add(1) != nil { // the server is ending
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			fail(w, req, &api.Error{Kind: api.Unavailable, Message: "the server is shutting down"})
			return
		}
		defer inFlight.Done()
		next.ServeHTTP(w, req)
	})
}
