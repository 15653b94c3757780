package server

import (
	"net/http"
	"net/http/pprof"
	"time"
)

// installProfiling serves the profiles for go tool pprof. The authorizer decides who may read them.
func installProfiling(mux Mux) {
	mux.Handle("/debug/pprof", http.RedirectHandler("/debug/pprof/", http.StatusFound))
	mux.HandlePrefix("/debug/pprof/", http.HandlerFunc(pprof.Index))
	for name, handler := range map[string]http.HandlerFunc{"cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace} {
		mux.Handle("/debug/pprof/"+name, unhurried(handler))
	}
}

// unhurried removes the read deadline: net/http would cancel a request that outlives it.
func unhurried(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a connection without one needs none
		next.ServeHTTP(w, req)
	})
}
