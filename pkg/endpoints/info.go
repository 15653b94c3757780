// Package endpoints is the second door: it serves a table of resources over HTTP, as
// today's server does. It knows no resource by name.
package endpoints

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RequestInfo is what a request asks for, as its method and its path say.
type RequestInfo struct {
	Verb         string // get, list, watch, create, update, patch, delete or deletecollection
	GroupVersion schema.GroupVersion
	Namespace    string // "" for all, and for what has none
	Resource     string
	Subresource  string
	Name         string
}

// resourceInfo returns what a request below /api or /apis asks for; ok is false if its
// path is no resource's.
func resourceInfo(req *http.Request) (info RequestInfo, ok bool) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		info.GroupVersion, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		info.GroupVersion, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return info, false
	}
	watched := parts[0] == "watch" && len(parts) > 1
	if watched {
		parts = parts[1:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
		info.Namespace, parts = parts[1], parts[2:]
	}
	info.Resource = parts[0]
	if len(parts) > 1 {
		info.Name = parts[1]
	}
	if len(parts) > 2 {
		info.Subresource = strings.Join(parts[2:], "/")
	}
	info.Verb = info.verb(req)
	if watched {
		info.Verb, ok = watchVerb(req), info.Subresource == ""
		return info, ok
	}
	return info, true
}

// watchVerb returns what is to be done at a path that only watches have, "" for nothing.
func watchVerb(req *http.Request) string {
	if req.Method == http.MethodGet {
		return "watch"
	}
	return ""
}

// verb returns what is to be done at any other path.
func (i *RequestInfo) verb(req *http.Request) string {
	switch req.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if i.Name == "" {
			return "deletecollection"
		}
		return "delete"
	case http.MethodGet, http.MethodHead:
	default:
		return ""
	}
	if i.Name != "" {
		return "get"
	}
	if wantsWatch(req) {
		return watchVerb(req)
	}
	return "list"
}

// wantsWatch reports whether a query asks for a watch: by any value but these.
func wantsWatch(req *http.Request) bool {
	values := req.URL.Query()["watch"]
	return len(values) > 0 && values[0] != "0" && !strings.EqualFold(values[0], "false")
}
