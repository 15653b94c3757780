package openapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api/v1/markers"
)

type operation struct {
	Tags        []string            `json:"tags"`
	Description string              `json:"description"`
	ID          string              `json:"operationId"`
	Parameters  []parameter         `json:"parameters"`
	RequestBody *body               `json:"requestBody,omitempty"`
	Responses   map[string]response `json:"responses"`
	Action      string              `json:"x-kubernetes-action"`
	Kind        groupKind           `json:"x-kubernetes-group-version-kind"`
}

type parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Schema      object `json:"schema"`
}

type body struct {
	Content  map[string]media `json:"content"`
	Required bool             `json:"required,omitempty"`
}

type response struct {
	Description string           `json:"description"`
	Content     map[string]media `json:"content,omitempty"`
}

type media struct {
	Schema object `json:"schema"`
}

// verbs has the properties of an operation: its method, its action, the word in its id, its description, the codes of its
// answers, and the structs that define its query parameters.
var verbs = map[string]struct {
	method, action, word, description string
	codes                             []int
	options                           []any
}{
	"create":           {"post", "post", "create", "create{of}{a}{kind}", []int{200, 201, 202, 401}, []any{metav1.CreateOptions{}}},
	"delete":           {"delete", "delete", "delete", "delete{a}{kind}", []int{200, 202, 401}, []any{metav1.DeleteOptions{}}},
	"deletecollection": {"delete", "deletecollection", "delete", "delete collection of {kind}", okay, []any{metav1.DeleteOptions{}, metav1.ListOptions{}}},
	"get":              {"get", "get", "read", "read{of} the specified {kind}", okay, nil},
	"list":             {"get", "list", "list", "list objects of kind {kind}", okay, []any{metav1.ListOptions{}}},
	"log":              {"get", "get", "read", "read{of} the specified {kind}", okay, []any{corev1.PodLogOptions{}}},
	"patch":            {"patch", "patch", "patch", "partially update{of} the specified {kind}", []int{200, 201, 401}, []any{metav1.PatchOptions{}}},
	"update":           {"put", "put", "replace", "replace{of} the specified {kind}", []int{200, 201, 401}, []any{metav1.UpdateOptions{}}},
	"watch": {"get", "watch", "watch", "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list operation " +
		"instead, filtered to a single item with the 'fieldSelector' parameter.", okay, []any{metav1.ListOptions{}}},
	"watchlist": {"get", "watchlist", "watch", "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list " +
		"operation instead.", okay, []any{metav1.ListOptions{}}},
}

var okay = []int{200, 401}

// describe returns the description of an operation on a kind, or on a subresource of it.
func describe(verb, kind, sub string) string {
	of, a := "", " a "
	if sub != "" {
		of = " " + sub + " of"
	}
	switch {
	case strings.HasSuffix(kind, "s") && !strings.HasSuffix(kind, "ss"): // Endpoints
		a = " "
	case strings.ContainsRune("AEIOU", rune(kind[0])):
		a = " an "
	}
	return strings.NewReplacer("{of}", of, "{a}", a, "{kind}", kind).Replace(verbs[verb].description)
}

// notHere are options that only the real server has.
var notHere = []string{"ignoreStoreReadErrorWithClusterBreakingPotential", "shardSelector"}

// value is the schema of a parameter that is a text.
var value = object{Type: "string", UniqueItems: true}

// parameters returns the parameters of an operation, sorted by name: those of its path and its options, and pretty.
func parameters(path, verb, kind string) []parameter {
	all := append(inPath(path, kind), parameter{"pretty", "query", "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser " +
		"or command-line HTTP tool (curl and wget).", false, value})
	for _, options := range verbs[verb].options {
		for _, p := range inQuery(reflect.TypeOf(options)) {
			if verb != "deletecollection" || p.Name != "watch" && p.Name != "allowWatchBookmarks" {
				all = append(all, p)
			}
		}
	}
	return sorted(all)
}

func sorted(parameters []parameter) []parameter {
	slices.SortStableFunc(parameters, func(a, b parameter) int { return strings.Compare(a.Name, b.Name) })
	return parameters
}

func inPath(path, kind string) (all []parameter) {
	for _, p := range [][2]string{{"name", "name of the " + kind}, {"namespace", "object name and auth scope, such as for teams and projects"}, {"path", "path to the resource"}} {
		if strings.Contains(path, "{"+p[0]+"}") {
			all = append(all, parameter{p[0], "path", p[1], true, value})
		}
	}
	return all
}

// inQuery returns the parameters that a type of options defines. None is required, as in the document of today's server.
func inQuery(options reflect.Type) (all []parameter) {
	for _, f := range markers.Fields(options) {
		t := f.Type
		if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct || f.JSON == "kind" || f.JSON == "apiVersion" || slices.Contains(notHere, f.JSON) {
			continue
		}
		all = append(all, parameter{f.JSON, "query", f.Doc, false, object{Type: new(schemas).of(t).Type, UniqueItems: true}})
	}
	return all
}

// bodies returns the body of a request, nil if it has none, and the answer's schema.
func (b *builder) bodies(verb string, kind groupKind) (*body, object) {
	_, isOwn := b.own[kind]
	data := []string{"*/*"}
	if isOwn {
		data = []string{typeJSON, typeYAML}
	}
	switch verb {
	case "create", "update":
		same := b.kind(kind)
		return &body{typed(same, data...), true}, same
	case "patch":
		formats := []string{"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"}
		if !isOwn {
			formats = append(formats, "application/strategic-merge-patch+json")
		}
		return &body{typed(b.of(reflect.TypeFor[metav1.Patch]()), formats...), true}, b.kind(kind)
	case "delete", "deletecollection":
		options := typed(b.of(reflect.TypeFor[metav1.DeleteOptions]()), data...)
		if verb == "delete" && b.deleted[kind] {
			return &body{options, false}, b.kind(kind)
		}
		return &body{options, false}, b.of(reflect.TypeFor[metav1.Status]())
	case "list":
		kind.Kind += "List"
	case "log":
		return nil, object{Type: "string"}
	case "watch", "watchlist":
		return nil, b.of(reflect.TypeFor[metav1.WatchEvent]())
	}
	return nil, b.kind(kind)
}

// responses returns the answers of an operation by their codes.
func responses(verb string, answer object, isOwn bool) map[string]response {
	types := []string{typeJSON, typeYAML}
	if !isOwn {
		types = append(types, "application/vnd.kubernetes.protobuf")
		switch verb {
		case "list", "watch", "watchlist":
			types = append(types, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
		case "log":
			types = append(types, "text/plain") // the only one in truth: the real server lists all
		}
	}
	all := map[string]response{}
	for _, code := range verbs[verb].codes {
		r := response{Description: http.StatusText(code)}
		if code != http.StatusUnauthorized {
			r.Content = typed(answer, types...)
		}
		all[strconv.Itoa(code)] = r
	}
	return all
}

func typed(schema object, types ...string) map[string]media {
	content := map[string]media{}
	for _, t := range types {
		content[t] = media{schema}
	}
	return content
}

// connect adds the operations of a subresource by which a client connects with another process, for each method: with a web server also those
// of the paths below it. Kind is that of the options.
func (b *builder) connect(r metav1.APIResource, kind groupKind, path, id string) {
	name, sub, _ := strings.Cut(r.Name, "/")
	methods, suffixes := []string{"get", "post"}, map[string]string{"": ""}
	if slices.Contains(r.Verbs, "delete") {
		methods, suffixes = append(methods, "delete", "head", "options", "patch", "put"), map[string]string{"": "", "/{path}": "WithPath"}
	}
	for below, suffix := range suffixes {
		parameters := inPath(path+below, kind.Kind)
		if options := b.types[kind]; options != nil {
			parameters = append(parameters, inQuery(options)...)
		}
		for _, method := range methods {
			b.put(method, path+below, "connect", title(method)+id+suffix, operation{
				Description: fmt.Sprintf("connect %s requests to %s of %s", strings.ToUpper(method), sub, b.kindOf[name]),
				Parameters:  sorted(parameters),
				Responses: map[string]response{
					"200": {http.StatusText(http.StatusOK), typed(object{Type: "string"}, "*/*")},
					"401": {Description: http.StatusText(http.StatusUnauthorized)},
				},
				Action: "connect",
				Kind:   kind,
			})
		}
	}
}
