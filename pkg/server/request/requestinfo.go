// Package request has the data that the handlers of the chain share about a request: its target, its
// server and its user.
package request

import (
	"net/http"
	"slices"
	"strings"
)

// RequestInfo describes the target of a request, derived from its method and its URL. It is read-only
// once a context has it.
type RequestInfo struct {
	Path       string
	Verb       string // get, list, watch, create, update, patch, delete or deletecollection; without a resource: the method, in lower case
	IsResource bool
	IsServed   bool // the resource exists

	APIGroup    string
	APIVersion  string
	ServedAs    string // the version of the API in the path, "" if that is APIVersion
	Resource    string
	Subresource string
	Subpath     string // what follows the subresource proxy in the path, from its slash on
	Namespace   string // "" for all, and for what has none
	Name        string // "" for all

	Selects     bool // the query may have selectors, and the handler honours them
	NoTimeout   bool // it has no time limit
	OwnTimeout  bool // it has a time limit of its own, not that of the chain
	GetMayBlock bool // even its GET may block on another process
}

// NewRequestInfo parses a request to today's API. It does not check whether the resource in the path exists. Today's
// server calls this RequestInfoFactory.
func NewRequestInfo(req *http.Request) RequestInfo {
	info := RequestInfo{Path: req.URL.Path}
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		info.APIVersion, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		info.APIGroup, info.APIVersion, parts = parts[1], parts[2], parts[3:]
	default:
		info.Verb = strings.ToLower(req.Method)
		info.NoTimeout = info.IsLongRunning()
		return info
	}
	info.IsResource = true
	isWatch := parts[0] == "watch" && len(parts) > 1
	if isWatch {
		parts = parts[1:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
		info.Namespace, parts = parts[1], parts[2:]
	}
	info.Resource = parts[0]
	if len(parts) > 1 {
		info.Name = parts[1]
	}
	switch {
	case len(parts) > 2 && parts[2] == "proxy":
		info.Subresource, info.Subpath = "proxy", subpath(parts[3:], req.URL.Path)
	case len(parts) > 2:
		info.Subresource = strings.Join(parts[2:], "/")
	}
	info.Verb = VerbOf(req.Method, info.Name)
	if isWatch || info.Verb == "list" && IsOn(req.URL.Query()["watch"]) {
		info.Verb = ""
		if req.Method == http.MethodGet {
			info.Verb = "watch"
		}
	}
	info.Selects = !isWatch && slices.Contains([]string{"list", "watch", "deletecollection"}, info.Verb) // as in today's server, the old form of a watch tells nothing
	info.NoTimeout = info.IsLongRunning()
	return info
}

// subpath returns parts of a path from their slash on, with the slash that ends the path.
func subpath(parts []string, path string) string {
	below := strings.Join(append([]string{""}, parts...), "/")
	if strings.HasSuffix(path, "/") && !strings.HasSuffix(below, "/") {
		below += "/"
	}
	return below
}

// connecting are the subresources behind which another process answers.
var connecting = []string{"attach", "exec", "log", "portforward", "proxy"}

// Connects reports whether another process answers the request, which takes its time. Today's server calls its verb CONNECT.
func (i *RequestInfo) Connects() bool {
	return i.IsResource && slices.Contains(connecting, i.Subresource)
}

// IsLongRunning reports whether the request takes its time by its verb, subresource or path: a profile, too, whose
// query has its duration. Another request has NoTimeout by what its client alone says.
func (i *RequestInfo) IsLongRunning() bool {
	return i.IsResource && i.Verb == "watch" || i.Connects() || !i.IsResource && strings.HasPrefix(i.Path, "/debug/pprof/")
}

// VerbOf returns the verb of a method for an object, or for all objects if the name is "". A method that no API
// serves has none.
func VerbOf(method, name string) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		if name == "" {
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return ""
}

// IsOn reports whether a boolean parameter of a query is true: its first value is neither 0 nor false. An empty
// value is true.
func IsOn(values []string) bool {
	return len(values) > 0 && values[0] != "0" && !strings.EqualFold(values[0], "false")
}
