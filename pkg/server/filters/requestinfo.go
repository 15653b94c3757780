package filters

import (
	"net/http"

	"kube2014/pkg/server/request"
)

// WithRequestInfo finds out what a request asks for, for all handlers after it.
func WithRequestInfo(next http.Handler, api API) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		next.ServeHTTP(w, req.WithContext(request.WithInfo(req.Context(), api.RequestInfo(req))))
	})
}
