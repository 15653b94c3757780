package filters

import (
	"net/http"
	"regexp"
	"slices"
)

// WithCORS lets pages of other sites read answers, if their origin matches one of the expressions.
// They may not change anything (D32), so only safe methods are listed.
func WithCORS(next http.Handler, allowed []*regexp.Regexp) http.Handler {
	if len(allowed) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		header := w.Header()
		header.Add("Vary", "Origin")
		origin := req.Header.Get("Origin")
		if origin == "" || !slices.ContainsFunc(allowed, func(expression *regexp.Regexp) bool { return expression.MatchString(origin) }) {
			next.ServeHTTP(w, req)
			return
		}
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
		header.Set("Access-Control-Allow-Headers", "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since")
		header.Set("Access-Control-Expose-Headers", "Date")
		header.Set("Access-Control-Allow-Credentials", "true")
		if req.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, req)
	})
}
