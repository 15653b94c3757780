package server

import (
	"net/http"
	"net/http/pprof"
	"time"
)

// installProfiling serves what go tool pprof reads. Who may read it is up to the authorizer.
func installProfiling(mux Mux) {
	mux.Handle("/debug/pprof", http.RedirectHandler("/debug/pprof/", http.StatusFound))
	mux.HandlePrefix("/debug/pprof/", http.HandlerFunc(pprof.Index))
	for name, handler := range map[string]http.HandlerFunc{"cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace} {
		mux.Handle("/debug/pprof/"+name, unhurried(handler))
	}
}

// unhurried lets a request take longer than the time to read it: net/http would take it for one
// whose client has gone.
func unhurried(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a connection without one needs none
		next.ServeHTTP(w, req)
	})
}
