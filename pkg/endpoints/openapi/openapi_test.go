package openapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/endpoints/discovery"
)

// The beginnings of the names of schemas.
const (
	core = "io.k8s.api.core.v1."
	meta = "io.k8s.apimachinery.pkg.apis.meta.v1."
)

// served returns the versions that discovery's recordings have, and the types of their kinds.
func served(t *testing.T) ([]Version, map[schema.GroupVersionKind]any) {
	var recordings []struct{ Answer string }
	readJSON(t, "../discovery/testdata/recorded.json", &recordings)
	var versions []Version
	for _, r := range recordings {
		var list metav1.APIResourceList
		require.NoError(t, json.Unmarshal([]byte(r.Answer), &list))
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		if gv.Version != "" {
			versions = append(versions, Version{Version: discovery.Version{GroupVersion: gv, Resources: list.APIResources}})
		}
	}
	require.Len(t, versions, 4)
	v1 := corev1.SchemeGroupVersion.WithKind
	authentication, authorization := authenticationv1.SchemeGroupVersion.WithKind, authorizationv1.SchemeGroupVersion.WithKind
	//lint:file-ignore SA1019 the server has Endpoints, as the real one does
	return versions, map[schema.GroupVersionKind]any{
		v1("Binding"):                             corev1.Binding{},
		v1("Endpoints"):                           corev1.Endpoints{},
		v1("EndpointsList"):                       corev1.EndpointsList{},
		v1("Event"):                               corev1.Event{},
		v1("EventList"):                           corev1.EventList{},
		v1("Namespace"):                           corev1.Namespace{},
		v1("NamespaceList"):                       corev1.NamespaceList{},
		v1("Node"):                                corev1.Node{},
		v1("NodeList"):                            corev1.NodeList{},
		v1("Pod"):                                 &corev1.Pod{}, // a pointer will do
		v1("PodList"):                             corev1.PodList{},
		v1("ReplicationController"):               corev1.ReplicationController{},
		v1("ReplicationControllerList"):           corev1.ReplicationControllerList{},
		v1("Service"):                             corev1.Service{},
		v1("ServiceList"):                         corev1.ServiceList{},
		authentication("SelfSubjectReview"):       authenticationv1.SelfSubjectReview{},
		authentication("TokenReview"):             authenticationv1.TokenReview{},
		authorization("LocalSubjectAccessReview"): authorizationv1.LocalSubjectAccessReview{},
		authorization("SelfSubjectAccessReview"):  authorizationv1.SelfSubjectAccessReview{},
		authorization("SelfSubjectRulesReview"):   authorizationv1.SelfSubjectRulesReview{},
		authorization("SubjectAccessReview"):      authorizationv1.SubjectAccessReview{},
		autoscalingv1.SchemeGroupVersion.WithKind("Scale"):           autoscalingv1.Scale{},
		discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"):     discoveryv1.EndpointSlice{},
		discoveryv1.SchemeGroupVersion.WithKind("EndpointSliceList"): discoveryv1.EndpointSliceList{},
	}
}

// paths are those of the documents of what served returns.
var paths = []string{
	root + "/api/v1",
	root + "/apis/authentication.k8s.io/v1",
	root + "/apis/authorization.k8s.io/v1",
	root + "/apis/discovery.k8s.io/v1",
}

func readJSON(t *testing.T, path string, into any) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}

func get(d *Documents, url string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, url, nil)
	r.Header = header
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// readDocument is a document as a client reads it.
type readDocument struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]*object }
}

// written returns the documents as a client reads them, by path.
func written(t *testing.T) map[string]readDocument {
	groups, types := served(t)
	d := New(groups, types)
	documents := map[string]readDocument{}
	for _, path := range paths {
		var document readDocument
		require.NoError(t, json.Unmarshal(get(d, path, nil).Body.Bytes(), &document))
		documents[path] = document
	}
	return documents
}

// real is what the real server's documents have, without the parameters notHere. Of each schema
// it has the digest.
type real struct {
	Operations  []string
	Schemas     map[string]string
	Definitions map[string]string // in version 2
}

func readReal(t *testing.T) real {
	var r real
	readJSON(t, "testdata/real.json", &r)
	return r
}

func keys[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ",") }

func TestOperationsAreThoseOfTheRealServer(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, document := range written(t) {
		for path, operations := range document.Paths {
			for method, o := range operations {
				var parameters []string
				for _, p := range o.Parameters {
					parameters = append(parameters, p.Name)
				}
				kind := strings.TrimPrefix(o.Kind.Group+"/"+o.Kind.Version+"/"+o.Kind.Kind, "/")
				var consumes, produces map[string]media
				if o.RequestBody != nil {
					consumes = o.RequestBody.Content
				}
				for _, r := range o.Responses {
					if r.Content != nil {
						produces = r.Content
					}
				}
				lines = append(lines, strings.Join([]string{method, path, o.ID, o.Tags[0], o.Action, kind, strings.Join(parameters, ","),
					keys(consumes), keys(produces), keys(o.Responses), o.Description}, " "))
			}
		}
	}
	slices.Sort(lines)
	assert.Equal(t, strings.Join(readReal(t).Operations, "\n"), strings.Join(lines, "\n"))
}

func TestOperationsTakeAndAnswerWhatTheServerDoes(t *testing.T) {
	t.Parallel()
	document := written(t)[paths[0]]
	assert.Equal(t, "3.0.0", document.OpenAPI)
	ref := func(name string) object { return object{Ref: components + name} }
	pod, status, options := ref(core+"Pod"), ref(meta+"Status"), ref(meta+"DeleteOptions")
	optional := func(schema object) *body { return &body{typed(schema, "*/*"), false} }
	required := func(schema object) *body { return &body{typed(schema, "*/*"), true} }
	patch := &body{typed(ref(meta+"Patch"), "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
		"application/strategic-merge-patch+json"), true}
	all, one := "/api/v1/namespaces/{namespace}/pods", "/api/v1/namespaces/{namespace}/pods/{name}"
	for sentence, row := range map[string]struct {
		method, path string
		request      *body
		code, media  string
		answer       object
	}{
		"a list is answered with its list":            {"get", all, nil, "200", "application/json", ref(core + "PodList")},
		"a creation with what was created":            {"post", all, required(pod), "201", "application/json", pod},
		"a delete of all with a status":               {"delete", all, optional(options), "200", "application/json", status},
		"a get with the object":                       {"get", one, nil, "200", "application/json", pod},
		"an update with the object":                   {"put", one, required(pod), "200", "application/json", pod},
		"a patch with the object":                     {"patch", one, patch, "200", "application/json", pod},
		"a delete with a status":                      {"delete", one, optional(options), "200", "application/json", status},
		"a watch with events":                         {"get", "/api/v1/watch/pods", nil, "200", "application/json", ref(meta + "WatchEvent")},
		"a log with text":                             {"get", one + "/log", nil, "200", "text/plain", object{Type: "string"}},
		"a subresource with its kind":                 {"post", one + "/binding", required(ref(core + "Binding")), "201", "application/json", ref(core + "Binding")},
		"one of another group with that group's kind": {"get", "/api/v1/namespaces/{namespace}/replicationcontrollers/{name}/scale", nil, "200", "application/json", ref("io.k8s.api.autoscaling.v1.Scale")},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			o := document.Paths[row.path][row.method]
			assert.Equal(t, row.request, o.RequestBody)
			assert.NotEmpty(t, o.Responses[row.code].Description)
			assert.Equal(t, media{row.answer}, o.Responses[row.code].Content[row.media])
			assert.Equal(t, response{Description: "Unauthorized"}, o.Responses["401"])
		})
	}
}

func TestParametersAreInThePathOrTheQuery(t *testing.T) {
	t.Parallel()
	text := object{Type: "string", UniqueItems: true}
	byName := map[string]parameter{}
	for _, p := range written(t)[paths[0]].Paths["/api/v1/namespaces/{namespace}/pods/{name}"]["delete"].Parameters {
		assert.NotEmpty(t, p.Description, p.Name)
		byName[p.Name] = parameter{p.Name, p.In, "", p.Required, p.Schema}
	}
	assert.Equal(t, map[string]parameter{
		"dryRun":             {"dryRun", "query", "", false, text}, // a list in Go, of one value
		"gracePeriodSeconds": {"gracePeriodSeconds", "query", "", false, object{Type: "integer", UniqueItems: true}},
		"name":               {"name", "path", "", true, text},
		"namespace":          {"namespace", "path", "", true, text},
		"orphanDependents":   {"orphanDependents", "query", "", false, object{Type: "boolean", UniqueItems: true}},
		"pretty":             {"pretty", "query", "", false, text},
		"propagationPolicy":  {"propagationPolicy", "query", "", false, text},
	}, byName)
}

func TestAFieldRefersToItsTypeBesideItsDescription(t *testing.T) {
	t.Parallel()
	schemas := written(t)[paths[0]].Components.Schemas
	spec := schemas[core+"Pod"].Properties["spec"]
	assert.Equal(t, []object{{Ref: components + core + "PodSpec"}}, spec.AllOf)
	assert.Empty(t, spec.Ref)
	assert.NotEmpty(t, spec.Description)
}

func TestValuesThatJSONWritesInTheirOwnWayAreNotObjects(t *testing.T) {
	t.Parallel()
	schemas := written(t)[paths[0]].Components.Schemas
	number, text, whole := object{Type: "number"}, object{Type: "string"}, object{Type: "integer"}
	for name, want := range map[string]object{
		"io.k8s.apimachinery.pkg.api.resource.Quantity":   {OneOf: []object{text, number}},
		"io.k8s.apimachinery.pkg.util.intstr.IntOrString": {OneOf: []object{whole, text}, Format: "int-or-string"},
		meta + "Time":      {Type: "string", Format: "date-time"},
		meta + "MicroTime": {Type: "string", Format: "date-time"},
		"io.k8s.apimachinery.pkg.runtime.RawExtension": {Type: "object"},
	} {
		require.Contains(t, schemas, name)
		got := *schemas[name]
		got.Description = ""
		assert.Equal(t, want, got, name)
	}
}

func TestEachReferenceLeadsToASchema(t *testing.T) {
	t.Parallel()
	groups, types := served(t)
	d := New(groups, types)
	for _, path := range paths {
		text := get(d, path, nil).Body.String()
		var document readDocument
		require.NoError(t, json.Unmarshal([]byte(text), &document))
		references := strings.Split(text, `"$ref":"`+components)[1:]
		require.NotEmpty(t, references)
		for _, reference := range references {
			name, _, _ := strings.Cut(reference, `"`)
			assert.Contains(t, document.Components.Schemas, name)
		}
	}
}

func TestAKindWithoutATypeIsAnyObject(t *testing.T) {
	t.Parallel()
	d := New([]Version{{Version: discovery.Version{GroupVersion: schema.GroupVersion{Group: "a", Version: "v1"}, Resources: []metav1.APIResource{
		{Name: "bs", Kind: "B", Verbs: metav1.Verbs{"get"}},
	}}}}, nil)
	var document readDocument
	require.NoError(t, json.Unmarshal(get(d, root+"/apis/a/v1", nil).Body.Bytes(), &document))
	answer := document.Paths["/apis/a/v1/bs/{name}"]["get"].Responses["200"].Content["application/json"].Schema
	assert.Equal(t, object{Type: "object"}, answer)
	assert.Empty(t, document.Components.Schemas)
}

func TestGoTypesAreTheirJSONTypes(t *testing.T) {
	t.Parallel()
	type unnamed struct{}
	whole, text := object{Type: "integer", Format: "int64"}, object{Type: "string"}
	wholes, texts := whole, text
	wholes.Default, texts.Default = json.RawMessage("0"), json.RawMessage(`""`)
	for sentence, row := range map[string]struct {
		value any
		want  object
	}{
		"a text":                     {corev1.PodRunning, text},
		"a truth":                    {true, object{Type: "boolean"}},
		"a number":                   {int64(1), whole},
		"a number of 32 bits":        {int32(1), object{Type: "integer", Format: "int32"}},
		"a broken number":            {1.5, object{Type: "number", Format: "double"}},
		"what a pointer points to":   {new(int64), whole},
		"bytes":                      {[]byte{}, object{Type: "string", Format: "byte"}},
		"a list":                     {[]int64{}, object{Type: "array", Items: &wholes}},
		"a map":                      {map[string]string{}, object{Type: "object", AdditionalProperties: &texts}},
		"a struct, by its own name":  {corev1.EnvVar{}, object{Ref: components + core + "EnvVar"}},
		"a struct without such name": {unnamed{}, object{Ref: components + "openapi.unnamed"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := schemas{byName: map[string]any{}}
			assert.Equal(t, row.want, s.of(reflect.TypeOf(row.value)))
			if name, isComponent := strings.CutPrefix(row.want.Ref, components); isComponent {
				assert.Contains(t, s.byName, name)
			}
		})
	}
}

func TestATypeOfTwoKindsNamesBoth(t *testing.T) {
	t.Parallel()
	a, b := groupKind{Group: "a", Version: "v1", Kind: "Status"}, groupKind{Group: "b", Version: "v1", Kind: "Status"}
	types := newKindTypes(map[schema.GroupVersionKind]any{schema.GroupVersionKind(b): metav1.Status{}, schema.GroupVersionKind(a): metav1.Status{}})
	s := schemas{kindTypes: types, byName: map[string]any{}}
	assert.Equal(t, s.kind(a), s.kind(b))
	assert.Equal(t, []groupKind{a, b}, s.byName[meta+"Status"].(*object).Kinds)
}
