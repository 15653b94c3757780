package openapi

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// document is the OpenAPI document of one version of a group.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Info       info                            `json:"info"`
	Paths      map[string]map[string]operation `json:"paths"` // by method
	Components struct {
		Schemas map[string]any `json:"schemas"`
	} `json:"components"`
}

type info struct {
	Title   string `json:"title"`
	Version string `json:"version"`
}

// builder builds a document.
type builder struct {
	schemas
	paths   map[string]map[string]operation
	version Version
	kindOf  map[string]string // by resource
}

func newBuilder(types kindTypes, isV2 bool) *builder {
	return &builder{schemas: schemas{types, map[string]any{}, map[groupKind]own{}, isV2}, paths: map[string]map[string]operation{}}
}

func newDocument(version Version, types kindTypes) document {
	b := newBuilder(types, false)
	b.addVersion(version)
	d := document{OpenAPI: "3.0.0", Info: info{"kube2014", version.GroupVersion.Version}, Paths: b.paths}
	d.Components.Schemas = b.byName
	return d
}

// addVersion adds the operations of all resources of a version.
func (b *builder) addVersion(version Version) {
	b.version, b.kindOf = version, map[string]string{}
	for _, row := range version.Rows {
		b.addOwn(row)
	}
	for _, resource := range version.Resources {
		b.add(resource)
	}
}

// add adds the operations of a resource, or of a subresource.
func (b *builder) add(r metav1.APIResource) {
	kind := groupKind(b.version.WithKind(r.Kind))
	if r.Version != "" {
		kind.Group, kind.Version = r.Group, r.Version
	}
	name, sub, isSub := strings.Cut(r.Name, "/")
	if !isSub {
		b.kindOf[name] = r.Kind
	}
	id := b.kindOf[name]
	everywhere := "/" + name
	all := everywhere
	if r.Namespaced {
		all, id = "/namespaces/{namespace}/"+name, "Namespaced"+id
	}
	_, isOwn := b.own[kind]
	one := strings.TrimSuffix(all+"/{name}/"+sub, "/")
	for _, verb := range r.Verbs {
		switch {
		case verb == "list":
			b.operation(verb, all, id, kind)
			if r.Namespaced {
				b.operation(verb, everywhere, r.Kind+"ForAllNamespaces", kind)
			}
		case verb == "watch" && isOwn: // these paths are old
		case verb == "watch":
			b.operation("watchlist", "/watch"+all, id+"List", kind)
			b.operation("watch", "/watch"+one, id, kind)
			if r.Namespaced {
				b.operation("watchlist", "/watch"+everywhere, r.Kind+"ListForAllNamespaces", kind)
			}
		case verb == "deletecollection":
			b.operation(verb, all, "Collection"+id, kind)
		case verb == "create" && !isSub:
			b.operation(verb, all, id, kind)
		case sub == "log":
			b.operation("log", one, id+"Log", kind)
		default:
			b.operation(verb, one, id+title(sub), kind)
		}
	}
}

func (b *builder) operation(verb, path, id string, kind groupKind) {
	group, _, _ := strings.Cut(cmp.Or(b.version.Group, "core"), ".")
	version := b.version.GroupVersion.Version
	request, answer := b.bodies(verb, kind)
	operations := b.paths[b.version.Path()+path]
	if operations == nil {
		operations = map[string]operation{}
		b.paths[b.version.Path()+path] = operations
	}
	operations[verbs[verb].method] = operation{
		Tags:        []string{group + "_" + version},
		ID:          verbs[verb].word + title(group) + title(version) + id,
		Parameters:  parameters(path, verb),
		RequestBody: request,
		Responses:   responses(verb, answer),
		Action:      verbs[verb].action,
		Kind:        kind,
	}
}

func title(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}
