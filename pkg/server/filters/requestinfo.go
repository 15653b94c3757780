package filters

import (
	"net/http"

	"kube2014/pkg/server/request"
)

// WithRequestInfo finds out what a request asks for, for all handlers after it. Where there are no
// guards and no audit, only those with a time limit need it: to tell it on costs a GET a fortieth of its time.
func WithRequestInfo(next http.Handler, api API, needed bool) http.Handler {
	if !needed {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		next.ServeHTTP(w, req.WithContext(request.WithInfo(req.Context(), api.RequestInfo(req))))
	})
}
