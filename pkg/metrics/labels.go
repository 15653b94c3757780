package metrics

import (
	"net/http"
	"slices"
	"strings"

	"kube2014/pkg/server/request"
)

// Labels are what the series of requests are told apart by. Whatever is requested, there are
// few of them.
type Labels struct {
	Verb        string // as today's: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, CONNECT or other
	DryRun      string // "", All or invalid
	Group       string
	Version     string
	Resource    string // "" for a path that is no resource's, other for a resource that is not served
	Subresource string // for a path that is no resource's: how it begins, such as /healthz
	Scope       string // resource, namespace or cluster; "" for a path that is no resource's
	Component   string // apiserver; "" for a path that is no resource's
}

// other stands for all values that are not known.
const other = "other"

// resource is one that is served.
type resource struct{ group, version, name, subresource string }

// Know says that a resource is served. The name of a subresource follows a slash.
func (m *Metrics) Know(group, version, name string) {
	name, subresource, _ := strings.Cut(name, "/")
	m.known[resource{group, version, name, subresource}] = true
}

// LabelsOf returns the labels of a request that asks for something.
func (m *Metrics) LabelsOf(info *request.Info, req *http.Request) Labels {
	if !info.IsResource {
		return Labels{Verb: verbOfMethod(req.Method), Subresource: firstSegment(info.Path)}
	}
	l := Labels{Verb: verbOf(info, req), DryRun: dryRunOf(req), Scope: scopeOf(info), Component: "apiserver", Resource: other}
	asked := resource{info.APIGroup, info.APIVersion, info.Resource, info.Subresource}
	if info.ServedAs != "" {
		asked.version = info.ServedAs
	}
	if m.known[asked] {
		l.Group, l.Version, l.Resource, l.Subresource = asked.group, asked.version, asked.name, asked.subresource
	}
	return l
}

// verbOf returns the verb of a request for a resource in today's words. To read a log is to be
// connected to it.
func verbOf(info *request.Info, req *http.Request) string {
	switch info.Verb {
	case "get":
		if info.Subresource == "log" {
			return "CONNECT"
		}
		return "GET"
	case "list":
		return "LIST"
	case "watch":
		return "WATCH"
	case "create":
		return "POST"
	case "update":
		return "PUT"
	case "patch":
		if strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch+") {
			return "APPLY"
		}
		return "PATCH"
	case "delete", "deletecollection":
		return "DELETE"
	}
	return other
}

func verbOfMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		return "GET"
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect:
		return method
	}
	return other
}

func scopeOf(info *request.Info) string {
	switch {
	case info.Name != "" || info.Verb == "create":
		return "resource"
	case info.Namespace != "":
		return "namespace"
	}
	return "cluster"
}

func dryRunOf(req *http.Request) string {
	if req.URL.RawQuery == "" {
		return ""
	}
	values := req.URL.Query()["dryRun"]
	switch {
	case len(values) == 0:
		return ""
	case slices.ContainsFunc(values, func(value string) bool { return value != "All" }):
		return "invalid"
	}
	return "All"
}

// firstSegments are how the paths begin that are no resource's.
var firstSegments = []string{"/", "/api", "/apis", "/debug", "/healthz", "/livez", "/metrics", "/openapi", "/readyz", "/version"}

// firstSegment returns how a path begins.
func firstSegment(path string) string {
	begin := path
	if len(path) > 0 {
		if end := strings.IndexByte(path[1:], '/'); end >= 0 {
			begin = path[:end+1]
		}
	}
	if i := slices.Index(firstSegments, begin); i >= 0 {
		return firstSegments[i]
	}
	return other
}
