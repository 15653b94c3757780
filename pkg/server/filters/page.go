package filters

import (
	"net/http"
	"strings"
)

// WithPage serves a page below a path. It precedes authentication: users authenticate on the page.
func WithPage(next http.Handler, path string, page http.Handler) http.Handler {
	if page == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasPrefix(req.URL.Path, path) && req.URL.Path != strings.TrimSuffix(path, "/") || req.Method != http.MethodGet && req.Method != http.MethodHead {
			next.ServeHTTP(w, req)
			return
		}
		page.ServeHTTP(w, req)
	})
}
