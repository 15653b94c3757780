package openapi

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/endpoints/discovery"
)

// document is the OpenAPI document of one version of a group.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Info       info                            `json:"info"`
	Paths      map[string]map[string]operation `json:"paths"` // by method
	Components struct {
		Schemas map[string]*object `json:"schemas"`
	} `json:"components"`
}

type info struct {
	Title   string `json:"title"`
	Version string `json:"version"`
}

// builder builds a document.
type builder struct {
	schemas
	document
	version discovery.Version
	kindOf  map[string]string // by resource
}

func newDocument(version discovery.Version, types kindTypes) document {
	b := &builder{
		schemas:  schemas{types, map[string]*object{}},
		document: document{OpenAPI: "3.0.0", Info: info{"kube2014", version.GroupVersion.Version}, Paths: map[string]map[string]operation{}},
		version:  version,
		kindOf:   map[string]string{},
	}
	for _, resource := range version.Resources {
		b.add(resource)
	}
	b.Components.Schemas = b.byName
	return b.document
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
	one := strings.TrimSuffix(all+"/{name}/"+sub, "/")
	for _, verb := range r.Verbs {
		switch {
		case verb == "list":
			b.operation(verb, all, id, kind)
			if r.Namespaced {
				b.operation(verb, everywhere, r.Kind+"ForAllNamespaces", kind)
			}
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
	operations := b.Paths[b.version.Path()+path]
	if operations == nil {
		operations = map[string]operation{}
		b.Paths[b.version.Path()+path] = operations
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
