package metrics

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"kube2014/pkg/server/request"
)

// Labels are what the series of requests are told apart by. Whatever is requested, there are
// few of them. They are small: each request looks its series up.
type Labels struct {
	resource *resource
	verb     verb
	scope    scope
	dryRun   dryRun
}

// resource is one that is served, with the name of its subresource; or a path that is no resource's, by
// how it begins, as a subresource. There is one value of each.
type resource struct {
	served
	component string
}

type served struct{ group, version, name, subresource string }

type verb uint8

const (
	otherVerb verb = iota
	get
	list
	watch
	post
	put
	patch
	apply
	remove
	connect
)

var verbs = [...]string{otherVerb: other, get: "GET", list: "LIST", watch: "WATCH", post: "POST", put: "PUT", patch: "PATCH", apply: "APPLY", remove: "DELETE", connect: "CONNECT"}

type scope uint8

const (
	noScope scope = iota
	ofCluster
	ofNamespace
	ofResource
)

var scopes = [...]string{noScope: "", ofCluster: "cluster", ofNamespace: "namespace", ofResource: "resource"}

type dryRun uint8

const (
	noDryRun dryRun = iota
	allDryRun
	invalidDryRun
)

var dryRuns = [...]string{noDryRun: "", allDryRun: "All", invalidDryRun: "invalid"}

// other stands for all values that are not known.
const other = "other"

const component = "apiserver"

var (
	unknown = &resource{served{name: other}, component}
	// paths are those that are no resource's, by how they begin.
	paths     = pathsOf("/", "/api", "/apis", "/debug", "/healthz", "/livez", "/metrics", "/openapi", "/readyz", "/version")
	otherPath = &resource{served: served{subresource: other}}
)

func pathsOf(begins ...string) map[string]*resource {
	all := map[string]*resource{}
	for _, begin := range begins {
		all[begin] = &resource{served: served{subresource: begin}}
	}
	return all
}

// LabelsOf returns the labels of a request that asks for something.
func (m *Metrics) LabelsOf(info *request.Info, req *http.Request) Labels {
	if !info.IsResource {
		return Labels{resource: pathOf(info.Path), verb: methodVerbs[req.Method]}
	}
	l := Labels{resource: unknown, verb: verbOf(info, req), scope: scopeOf(info), dryRun: dryRunOf(req)}
	if info.IsServed {
		l.resource = m.resources.of(served{info.APIGroup, cmp.Or(info.ServedAs, info.APIVersion), info.Resource, info.Subresource})
	}
	return l
}

// values returns the values of the labels: verb, group, version, resource, subresource, scope, component.
func (l Labels) values() []string {
	r := l.resource
	return []string{verbs[l.verb], r.group, r.version, r.name, r.subresource, scopes[l.scope], r.component}
}

// valuesWithDryRun returns them with what a dry run is at the end.
func (l Labels) valuesWithDryRun() []string { return append(l.values(), dryRuns[l.dryRun]) }

// verbOf returns the verb of a request for a resource in today's words. To read a log is to be
// connected to it.
func verbOf(info *request.Info, req *http.Request) verb {
	switch {
	case info.Verb == "get" && info.Subresource == "log":
		return connect
	case info.Verb == "patch" && strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch+"):
		return apply
	}
	return resourceVerbs[info.Verb]
}

// resourceVerbs and methodVerbs have the verbs of requests for a resource, and for any other path.
var (
	resourceVerbs = map[string]verb{"get": get, "list": list, "watch": watch, "create": post, "update": put, "patch": patch, "delete": remove, "deletecollection": remove}
	methodVerbs   = map[string]verb{"GET": get, "HEAD": get, "POST": post, "PUT": put, "PATCH": patch, "DELETE": remove}
)

func scopeOf(info *request.Info) scope {
	switch {
	case info.Name != "" || info.Verb == "create":
		return ofResource
	case info.Namespace != "":
		return ofNamespace
	}
	return ofCluster
}

func dryRunOf(req *http.Request) dryRun {
	if req.URL.RawQuery == "" {
		return noDryRun
	}
	values := req.URL.Query()["dryRun"]
	switch {
	case len(values) == 0:
		return noDryRun
	case slices.ContainsFunc(values, func(value string) bool { return value != "All" }):
		return invalidDryRun
	}
	return allDryRun
}

// pathOf returns what a path that is no resource's begins with.
func pathOf(path string) *resource {
	begin := path
	if len(path) > 0 {
		if end := strings.IndexByte(path[1:], '/'); end >= 0 {
			begin = path[:end+1]
		}
	}
	if known := paths[begin]; known != nil {
		return known
	}
	return otherPath
}
