package openapi

import (
	"cmp"
	"slices"
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
	kindOf  map[string]string  // by resource
	deleted map[groupKind]bool // whose objects are the answers to their DELETE
}

func newBuilder(types kindTypes, isV2 bool) *builder {
	return &builder{schemas: schemas{types, map[string]any{}, map[groupKind]own{}, isV2}, paths: map[string]map[string]operation{}, deleted: map[groupKind]bool{}}
}

func newDocument(version Version, types kindTypes) document {
	b := newBuilder(types, false)
	b.addVersion(version)
	for _, schema := range b.byName { // what all versions share is of this one and of the oldest
		if o, isOurs := schema.(*object); isOurs && len(o.Kinds) > 1 {
			o.Kinds = slices.DeleteFunc(slices.Clone(o.Kinds), func(kind groupKind) bool {
				return kind.Group != "" && (kind.Group != version.Group || kind.Version != version.GroupVersion.Version)
			})
		}
	}
	d := document{OpenAPI: "3.0.0", Info: info{"kube2014", version.GroupVersion.Version}, Paths: b.paths}
	d.Components.Schemas = b.byName
	return d
}

// addVersion adds the operations of all resources of a version.
func (b *builder) addVersion(version Version) {
	b.version, b.kindOf = version, map[string]string{}
	for _, row := range version.Rows {
		b.addOwn(row)
		if s, ok := row.Storage.(interface{ DeleteReturnsDeletedObject() bool }); ok && s.DeleteReturnsDeletedObject() {
			b.deleted[groupKind(row.Kind)] = true
		}
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
	add := func(verb, path, id string) {
		description := describe(verb, b.kindOf[name], sub)
		if verb == "list" && slices.Contains(r.Verbs, "watch") && !isOwn {
			description = strings.Replace(description, "list", "list or watch", 1)
		}
		b.operation(verb, path, id, kind, description)
	}
	one := strings.TrimSuffix(all+"/{name}/"+sub, "/")
	if isSub && strings.HasSuffix(r.Kind, "Options") {
		b.connect(r, kind, one, id+title(sub))
		return
	}
	for _, verb := range r.Verbs {
		switch {
		case verb == "list":
			add(verb, all, id)
			if r.Namespaced {
				add(verb, everywhere, r.Kind+"ForAllNamespaces")
			}
		case verb == "watch" && isOwn: // these paths are old
		case verb == "watch":
			add("watchlist", "/watch"+all, id+"List")
			add("watch", "/watch"+one, id)
			if r.Namespaced {
				add("watchlist", "/watch"+everywhere, r.Kind+"ListForAllNamespaces")
			}
		case verb == "deletecollection":
			add(verb, all, "Collection"+id)
		case verb == "create" && !isSub:
			add(verb, all, id)
		case sub == "log":
			add("log", one, id+"Log")
		default:
			add(verb, one, id+title(sub))
		}
	}
}

func (b *builder) operation(verb, path, id string, kind groupKind, description string) {
	request, answer := b.bodies(verb, kind)
	_, isOwn := b.own[kind]
	b.put(verbs[verb].method, path, verbs[verb].word, id, operation{
		Description: description,
		Parameters:  parameters(path, verb, kind.Kind),
		RequestBody: request,
		Responses:   responses(verb, answer, isOwn),
		Action:      verbs[verb].action,
		Kind:        kind,
	})
}

// put adds an operation, whose id begins with a word, with its tag and its id.
func (b *builder) put(method, path, word, id string, o operation) {
	group, version := inCamelCase(cmp.Or(b.version.Group, "core")), b.version.GroupVersion.Version
	operations := b.paths[b.version.Path()+path]
	if operations == nil {
		operations = map[string]operation{}
		b.paths[b.version.Path()+path] = operations
	}
	o.Tags, o.ID = []string{group + "_" + version}, word+title(group)+title(version)+id
	operations[method] = o
}

func title(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// inCamelCase returns the name of a group in ids, such as rbacAuthorization.
func inCamelCase(group string) string {
	first, rest, _ := strings.Cut(strings.TrimSuffix(group, ".k8s.io"), ".")
	for word := range strings.SplitSeq(rest, ".") {
		first += title(word)
	}
	return first
}
