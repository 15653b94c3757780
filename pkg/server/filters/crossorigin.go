package filters

import (
	"net/http"

	"kube2014/pkg/api"
)

// WithCrossOriginProtection refuses requests of other sites' pages that may change something (D32).
func WithCrossOriginProtection(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if protection.Check(req) != nil {
			fail(w, req, &api.Error{Kind: api.Forbidden, Message: "a browser may not send a cross-site " + req.Method + " request"})
			return
		}
		next.ServeHTTP(w, req)
	})
}
