// Package filters has the handlers of the chain, one a file. Each does one thing, and lets the
// next one do the rest. One that has nothing to do is not put into the chain: it returns the
// next one.
package filters

import (
	"net/http"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util"
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

// line returns an error as a part of a line of the log, cut if it is long: a client chooses the
// names in its certificate.
func line(err error) string {
	text := err.Error()
	if len(text) > util.MaxLine {
		text = text[:util.MaxLine] + "..."
	}
	return api.Printable(strings.ToValidUTF8(text, "?"), ' ')
}
