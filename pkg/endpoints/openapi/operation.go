package openapi

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api/v1/markers"
)

type operation struct {
	Tags        []string            `json:"tags"`
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
	Content     map[string]media `json:"content"`
}

type media struct {
	Schema object `json:"schema"`
}

// verbs has the properties of an operation: its method, its action, the word in its id, and
// the structs that define its query parameters.
var verbs = map[string]struct {
	method, action, word string
	options              []any
}{
	"create":           {"post", "post", "create", []any{metav1.CreateOptions{}}},
	"delete":           {"delete", "delete", "delete", []any{metav1.DeleteOptions{}}},
	"deletecollection": {"delete", "deletecollection", "delete", []any{metav1.DeleteOptions{}, metav1.ListOptions{}}},
	"get":              {"get", "get", "read", nil},
	"list":             {"get", "list", "list", []any{metav1.ListOptions{}}},
	"log":              {"get", "get", "read", []any{corev1.PodLogOptions{}}},
	"patch":            {"patch", "patch", "patch", []any{metav1.PatchOptions{}}},
	"update":           {"put", "put", "replace", []any{metav1.UpdateOptions{}}},
	"watch":            {"get", "watch", "watch", []any{metav1.ListOptions{}}},
	"watchlist":        {"get", "watchlist", "watch", []any{metav1.ListOptions{}}},
}

// notHere are options that only the real server has.
var notHere = []string{"force", "ignoreStoreReadErrorWithClusterBreakingPotential", "shardSelector"}

// parameters returns the parameters of an operation, sorted by name: those of its path and its options, and pretty.
func parameters(path, verb string) []parameter {
	value := object{Type: "string", UniqueItems: true}
	all := []parameter{{"pretty", "query", "If 'true', the answer is indented.", false, value}}
	for _, name := range []string{"name", "namespace"} {
		if strings.Contains(path, "{"+name+"}") {
			all = append(all, parameter{name, "path", name + " of the object", true, value})
		}
	}
	var options []markers.Field
	for _, value := range verbs[verb].options {
		options = append(options, markers.Fields(reflect.TypeOf(value))...)
	}
	for _, f := range options {
		t := f.Type
		if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		ofWatch := verb == "deletecollection" && (f.JSON == "watch" || f.JSON == "allowWatchBookmarks")
		if t.Kind() == reflect.Struct || f.JSON == "kind" || f.JSON == "apiVersion" || ofWatch || slices.Contains(notHere, f.JSON) {
			continue
		}
		schema := object{Type: new(schemas).of(t).Type, UniqueItems: true}
		all = append(all, parameter{f.JSON, "query", f.Doc, f.Required, schema})
	}
	slices.SortFunc(all, func(a, b parameter) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// bodies returns the body of a request, nil if it has none, and the answer's schema.
func (s *schemas) bodies(verb string, kind groupKind) (*body, object) {
	switch verb {
	case "create", "update":
		same := s.kind(kind)
		return &body{typed(same, "application/json", "application/yaml"), true}, same
	case "patch":
		formats := []string{"application/json-patch+json", "application/merge-patch+json"}
		if _, isOwn := s.own[kind]; !isOwn {
			formats = append(formats, "application/strategic-merge-patch+json")
		}
		return &body{typed(s.of(reflect.TypeFor[metav1.Patch]()), formats...), true}, s.kind(kind)
	case "delete", "deletecollection":
		options := typed(s.of(reflect.TypeFor[metav1.DeleteOptions]()), "application/json", "application/yaml")
		answer := s.of(reflect.TypeFor[metav1.Status]())
		if verb == "delete" && !s.isV2 {
			answer = object{OneOf: []object{s.kind(kind), answer}}
		}
		return &body{options, false}, answer
	case "list":
		kind.Kind += "List"
	case "log":
		return nil, object{Type: "string"}
	case "watch", "watchlist":
		return nil, s.of(reflect.TypeFor[metav1.WatchEvent]())
	}
	return nil, s.kind(kind)
}

func responses(verb string, answer object) map[string]response {
	switch verb {
	case "create":
		return map[string]response{"201": {"Created", typed(answer, "application/json")}}
	case "log":
		return map[string]response{"200": {"OK", typed(answer, "text/plain")}}
	}
	return map[string]response{"200": {"OK", typed(answer, "application/json")}}
}

func typed(schema object, types ...string) map[string]media {
	content := map[string]media{}
	for _, t := range types {
		content[t] = media{schema}
	}
	return content
}
