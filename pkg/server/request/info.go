// Package request is what the handlers of the chain know of a request: what it asks for, which server
// answers it, and who sends it.
package request

import (
	"net/http"
	"slices"
	"strings"
)

// Info is what a request asks for, as its method and its path say. What a
// context has of it is shared: nobody changes it.
type Info struct {
	Path       string
	Verb       string // get, list, watch, create, update, patch, delete or deletecollection; without a resource: the method, in lower case
	IsResource bool
	IsServed   bool // there is such a resource

	APIGroup    string
	APIVersion  string
	ServedAs    string // the version of the API at whose door it came, "" if that is APIVersion
	Resource    string
	Subresource string
	Namespace   string // "" for all, and for what has none
	Name        string // "" for all

	SelectsByField bool // the query may say fieldSelector, and what answers keeps to it
	Unlimited      bool // it may take as long as it likes
	KeepsTime      bool // it has a time limit without the chain
}

// NewInfo returns what a request asks for in today's API. A path that looks like a resource's is one, whether
// or not there is such a resource. Today's server calls this RequestInfoFactory.
func NewInfo(req *http.Request) Info {
	info := Info{Path: req.URL.Path}
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
	if len(parts) > 2 {
		info.Subresource = strings.Join(parts[2:], "/")
	}
	info.Verb = verb(req, info.Name)
	if isWatch {
		info.Verb = watchVerb(req)
	}
	info.SelectsByField = info.Verb == "list" || info.Verb == "watch" // as in today's server, no name allows to delete a collection
	info.Unlimited = info.Verb == "watch" || info.Subresource == "log"
	return info
}

// watchVerb returns what is done at a path that only watches have, "" for nothing.
func watchVerb(req *http.Request) string {
	if req.Method == http.MethodGet {
		return "watch"
	}
	return ""
}

// verb returns what is done at any other path, with an object of a name or with all.
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
	if IsOn(req.URL.Query()["watch"]) {
		return watchVerb(req)
	}
	return "list"
}

// IsOn reports whether the values of a parameter of a query turn something on: any first value does but 0 and
// false, also an empty one.
func IsOn(values []string) bool {
	return len(values) > 0 && values[0] != "0" && !strings.EqualFold(values[0], "false")
}
