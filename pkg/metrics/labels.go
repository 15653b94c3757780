package metrics

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"

	"kube2014/pkg/server/request"
)

// Labels are the values of the labels of a request's series. There are few of them, whatever is requested.
type Labels struct {
	verb, group, version, resource string
	subresource                    string // of a path that is no resource's: its beginning
	scope, component, dryRun       string
}

const (
	other     = "other" // stands for all unknown values
	component = "apiserver"
)

// paths are the known beginnings of paths that are no resource's.
var paths = []string{"/", "/.well-known", "/api", "/apis", "/debug", "/healthz", "/livez", "/metrics", "/openapi", "/openid", "/readyz", "/version"}

// LabelsOf returns the labels of a request.
func LabelsOf(info *request.RequestInfo, req *http.Request) Labels {
	if !info.IsResource {
		return Labels{subresource: pathOf(info.Path), verb: cmp.Or(methodVerbs[req.Method], other)}
	}
	l := Labels{resource: other, component: component, verb: verbOf(info, req), scope: scopeOf(info), dryRun: dryRunOf(req)}
	if info.IsServed {
		l.group, l.version = info.APIGroup, cmp.Or(info.ServedAs, info.APIVersion)
		l.resource, l.subresource = info.Resource, info.Subresource
	}
	return l
}

// values returns the values of the labels: verb, group, version, resource, subresource, scope, component.
func (l Labels) values() []string {
	return []string{l.verb, l.group, l.version, l.resource, l.subresource, l.scope, l.component}
}

// valuesWithDryRun returns the values of the labels, and that of the dry run.
func (l Labels) valuesWithDryRun() []string { return append(l.values(), l.dryRun) }

// verbOf returns the verb of a request for a resource, as in today's server.
func verbOf(info *request.RequestInfo, req *http.Request) string {
	switch {
	case info.Connects():
		return "CONNECT"
	case info.Verb == "patch" && strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch+"):
		return "APPLY"
	}
	return cmp.Or(resourceVerbs[info.Verb], other)
}

// resourceVerbs and methodVerbs have the verbs of requests for a resource, and for any other path.
var (
	resourceVerbs = map[string]string{"get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT", "patch": "PATCH",
		"delete": "DELETE", "deletecollection": "DELETE"}
	methodVerbs = map[string]string{"GET": "GET", "HEAD": "GET", "POST": "POST", "PUT": "PUT", "PATCH": "PATCH", "DELETE": "DELETE"}
)

func scopeOf(info *request.RequestInfo) string {
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

// pathOf returns the known beginning of a path that is no resource's.
func pathOf(path string) string {
	begin := path
	if len(path) > 0 {
		if end := strings.IndexByte(path[1:], '/'); end >= 0 {
			begin = path[:end+1]
		}
	}
	if slices.Contains(paths, begin) {
		return begin
	}
	return other
}

// maxResources bounds the resources that are named in labels: kinds come and go while the server runs.
const maxResources = 1000

// bounded are the resources that labels name. Those after the first maxResources are "other". It is safe for concurrent use.
type bounded struct {
	mu    sync.RWMutex // guards known
	known map[[2]string]bool
}

func (b *bounded) names(group, resource string) bool {
	at := [2]string{group, resource}
	b.mu.RLock()
	known := b.known[at]
	b.mu.RUnlock()
	if known {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[[2]string]bool{}
	}
	if len(b.known) < maxResources {
		b.known[at] = true
	}
	return b.known[at]
}

// bounded returns labels without the names of a resource that is too much.
func (m *Metrics) bounded(l Labels) Labels {
	if l.resource != "" && !m.resources.names(l.group, l.resource) {
		l.group, l.version, l.resource, l.subresource = "", "", other, ""
	}
	return l
}
