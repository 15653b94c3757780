// Package filters has the handlers of the chain, one a file. Each does one thing, and lets the
// next one do the rest. One that has nothing to do is not put into the chain: it returns the
// next one.
package filters

import (
	"net/http"

	"kube2014/pkg/server/request"
)

// API is what the chain stands before: it knows what its requests ask for, and in which words
// to refuse them.
type API interface {
	http.Handler
	// RequestInfo returns what a request asks for.
	RequestInfo(req *http.Request) request.Info
	// KeepsTime reports whether a request has a time limit without the chain.
	KeepsTime(req *http.Request) bool
	// Fail answers a request that may not be served, or has panicked, with an error.
	Fail(w http.ResponseWriter, req *http.Request, err error)
}
