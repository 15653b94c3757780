// Package endpoints is the second door: it serves a table of resources over HTTP, as
// today's server does. It knows no resource by name.
package endpoints

import (
	"net/http"
	"slices"
	"strings"

	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// RequestInfo returns what a request of this server asks for. A path that looks like a
// resource's is one, whether or not there is such a resource.
func (s *Server) RequestInfo(req *http.Request) request.Info {
	info := request.Info{Path: req.URL.Path}
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		info.APIVersion, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		info.APIGroup, info.APIVersion, parts = parts[1], parts[2], parts[3:]
	default:
		info.Verb = strings.ToLower(req.Method)
		info.Unlimited = strings.HasPrefix(req.URL.Path, "/debug/pprof/") // a profile takes as long as it is asked for
		return info
	}
	info.IsResource = true
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
	info.Verb = verb(req, info.Name)
	if watched {
		info.Verb = watchVerb(req)
	}
	info.SelectsByField = info.Verb == "list" || info.Verb == "watch" // as in today's server, no name allows to delete a collection
	info.Unlimited = info.Verb == "watch" || info.Subresource == "log"
	return info
}

// watchVerb returns what is to be done at a path that only watches have, "" for nothing.
func watchVerb(req *http.Request) string {
	if req.Method == http.MethodGet {
		return "watch"
	}
	return ""
}

// verb returns what is to be done at any other path, with an object of a name or with all.
func verb(req *http.Request, name string) string {
	switch req.Method {
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
	case http.MethodGet, http.MethodHead:
	default:
		return ""
	}
	if name != "" {
		return "get"
	}
	if rest.IsOn(req.URL.Query()["watch"]) {
		return watchVerb(req)
	}
	return "list"
}
