package filters

import (
	"net/http"
	"strings"
)

// WithPage serves a page for people below a path. It stands before authentication: who opens the page has
// still to say who they are.
func WithPage(next http.Handler, path string, page http.Handler) http.Handler {
	if page == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasPrefix(req.URL.Path+"/", path) || req.Method != http.MethodGet && req.Method != http.MethodHead {
			next.ServeHTTP(w, req)
			return
		}
		page.ServeHTTP(w, req)
	})
}
