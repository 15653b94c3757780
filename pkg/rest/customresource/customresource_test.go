package customresource_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube2014/pkg/endpoints/bodies"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiextensions"
	"kube2014/pkg/rest/customresource"
	"kube2014/pkg/rest/customresource/conversion"
	"kube2014/pkg/storage/memory"
)

const widgets = "/apis/example.com/v1/namespaces/default/widgets"

func base() rest.Base {
	return rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }}
}

// definition returns the definition of a kind Widget, whose names have been accepted, with members of its version.
func definition(t testing.TB, version string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, json.Unmarshal([]byte(`{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
"names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,`+version+`}]}}`), crd))
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
	crd.Status.AcceptedNames = crd.Spec.Names
	return crd
}

// serve returns a door to the objects of a definition.
func serve(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition) *Door {
	converter, err := conversion.New(crd, nil)
	require.NoError(t, err)
	whole := crd.DeepCopy()
	read := func() (*apiextensionsv1.CustomResourceDefinition, error) { return whole.DeepCopy(), nil }
	return OpenWith(t, customresource.New(crd, read, converter, base()).Rows()...)
}

// spec returns a version whose objects have a spec with a schema.
func spec(schema string) string {
	return `"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},
"selectableFields":[{"jsonPath":".spec.size"}],"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":` + schema + `,
"status":{"type":"object","properties":{"replicas":{"type":"integer"},"selector":{"type":"string"},"phase":{"type":"string","enum":["Up","Down"]}}}}}}`
}

func widget(name, spec string) string {
	return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

func TestAnObjectIsCheckedInTodaysWords(t *testing.T) {
	t.Parallel()
	d := serve(t, definition(t, spec(`{"type":"object","required":["size"],"x-kubernetes-validations":[{"rule":"self.replicas <= 10 || self.size == 'large'","message":"more than 10 replicas need size large"}],
"properties":{"size":{"type":"string","enum":["small","large"]},"replicas":{"type":"integer","default":1,"minimum":0},"note":{"type":"string","maxLength":8},"until":{"type":"string","format":"date-time"},
"ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}},
"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},"pod":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`)))
	for message, object := range map[string]string{
		`spec.size: Unsupported value: "tiny": supported values: "small", "large"`: widget("a", `{"size":"tiny"}`),
		"spec.size: Required value": widget("a", `{}`),
		".spec.replicas: Invalid value: -1: should be a non-negative integer":                       widget("a", `{"size":"small","replicas":-1}`),
		".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647":     widget("a", `{"size":"large","replicas":2147483648}`),
		"spec.note: Too long: may not be more than 8 bytes":                                         widget("a", `{"size":"small","note":"much too long"}`),
		`spec.until: Invalid value: "never": spec.until in body must be of type date-time: "never"`: widget("a", `{"size":"small","until":"never"}`),
		"spec: Invalid value: more than 10 replicas need size large":                                widget("a", `{"size":"small","replicas":11}`),
		`spec.ports[1]: Duplicate value: {"name":"p"}`:                                              widget("a", `{"size":"small","ports":[{"name":"p"},{"name":"p"}]}`),
		`spec.set[1]: Duplicate value: "x"`:                                                         widget("a", `{"size":"small","set":["x","x"]}`),
		"spec.pod.apiVersion: Required value":                                                       widget("a", `{"size":"small","pod":{"kind":"Pod"}}`),
		`kind: Invalid value: "Other": must be Widget`:                                              `{"kind":"Other","apiVersion":"example.com/v1","metadata":{"name":"a"},"spec":{"size":"small"}}`,
		"metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain":                       widget("A", `{"size":"small"}`),
		"some validation rules were not checked because the object was invalid":                     widget("a", `{"size":"tiny"}`),
	} {
		answer := d.Do("POST", widgets, object)
		assert.Equal(t, 422, answer.Status, object)
		assert.Contains(t, answer.Error().Message, message)
	}
	for message, object := range map[string]string{
		"the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)": `{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"a"}}`,
		"the API version in the data () does not match the expected API version (example.com/v1)":               `{"kind":"Widget"}`,
		"(must be of type Widget): Object 'Kind' is missing in '{}' ({})":                                       `{}`,
		"(must be of type Widget): Object 'Kind' is missing in 'null' (6e756c6c)":                               `null`,
		"cannot be handled as a Widget: ":                                                                       `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":5}}`,
		"error parsing":                                                                                         `[]`,
	} {
		answer := d.Do("POST", widgets, object)
		assert.Equal(t, 400, answer.Status, object)
		if message != "error parsing" {
			assert.Contains(t, answer.Error().Message, message)
		}
	}
}

func TestWhatWasInvalidBeforeAndHasNotChangedMayStay(t *testing.T) {
	t.Parallel()
	loose, strict := spec(`{"type":"object","properties":{"size":{"type":"string"},"other":{"type":"string"}}}`), spec(`{"type":"object","properties":{"size":{"type":"string","maxLength":2,"x-kubernetes-validations":[{"rule":"self != 'long'"}]},"other":{"type":"string"}}}`)
	b := base()
	serveBoth := func(version string) *Door {
		crd := definition(t, version)
		whole := crd.DeepCopy()
		converter, err := conversion.New(crd, nil)
		require.NoError(t, err)
		return OpenWith(t, customresource.New(crd, func() (*apiextensionsv1.CustomResourceDefinition, error) { return whole.DeepCopy(), nil }, converter, b).Rows()...)
	}
	serveBoth(loose).Must("POST", widgets, widget("a", `{"size":"long"}`))
	d := serveBoth(strict)
	answer := d.Patch(widgets+"/a", MergePatch, `{"spec":{"other":"x"}}`)
	assert.Equal(t, 200, answer.Status)
	assert.Equal(t, []string{`299 - "spec.size: Invalid value: \"long\": failed rule: self != 'long'"`}, answer.Header["Warning"])
	answer = d.Patch(widgets+"/a", MergePatch, `{"spec":{"size":"longer"}}`)
	assert.Equal(t, 422, answer.Status)
	assert.Contains(t, answer.Error().Message, "spec.size: Too long: may not be more than 2 bytes")
	answer = d.Patch(widgets+"/a", MergePatch, `{"spec":{"size":"longer","typo":1}}`)
	assert.Equal(t, 422, answer.Status)
	assert.Equal(t, []string{`299 - "unknown field \"spec.typo\""`}, answer.Header["Warning"], "of a patch that is refused too")
}

// K99: today's server refuses the patch, shows five verbs, and tells of an Other.
func TestTheEdgesOfAnOwnKindAreThoseOfOtherKinds(t *testing.T) {
	t.Parallel()
	crd := definition(t, spec(`{"type":"object","properties":{"replicas":{"type":"integer","default":1}}}`))
	d := serve(t, crd)
	d.Must("POST", widgets, widget("a", `{}`))
	assert.Equal(t, 200, d.Patch(widgets+"/a/scale", "application/strategic-merge-patch+json", `{"spec":{"replicas":2}}`).Status)
	assert.Equal(t, 415, d.Patch(widgets+"/a", "application/strategic-merge-patch+json", `{"spec":{"replicas":3}}`).Status)
	assert.Equal(t, "Widget", d.Do("POST", widgets, `{"kind":"Other","apiVersion":"example.com/v1","metadata":{"name":"a"}}`).Error().Details.Kind)

	crd = definition(t, spec(`{"type":"object"}`))
	crd.DeletionTimestamp = &metav1.Time{Time: Now}
	rows := customresource.New(crd, nil, nil, base()).Rows()
	assert.Equal(t, []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}, rows[0].Verbs())
}

func TestSpecStatusAndScaleAreWrittenByThemselves(t *testing.T) {
	t.Parallel()
	d := serve(t, definition(t, spec(`{"type":"object","properties":{"replicas":{"type":"integer"},"size":{"type":"string"}}}`)))
	d.Must("POST", widgets, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":"s"},"status":{"phase":"Up"}}`)
	get := func(path string) map[string]any {
		var object unstructured.Unstructured
		require.NoError(t, json.Unmarshal([]byte(d.Must("GET", path, "").Text), &object))
		return object.Object
	}
	assert.NotContains(t, get(widgets+"/a"), "status")
	assert.Equal(t, `Internal error occurred: the spec replicas field ".spec.replicas" does not exist`, d.Do("GET", widgets+"/a/scale", "").Error().Message)
	require.Equal(t, 200, d.Patch(widgets+"/a/status", MergePatch, `{"metadata":{"labels":{"x":"y"}},"status":{"replicas":2,"selector":"a=b"},"spec":{"size":"t"}}`).Status)
	object := get(widgets + "/a")
	assert.Equal(t, map[string]any{"size": "s"}, object["spec"])
	assert.NotContains(t, object["metadata"], "labels")
	assert.Equal(t, int64(1), object["metadata"].(map[string]any)["generation"])
	assert.Equal(t, 422, d.Patch(widgets+"/a/status", MergePatch, `{"status":{"phase":"Sideways"}}`).Status)
	require.Equal(t, 200, d.Patch(widgets+"/a/scale", MergePatch, `{"spec":{"replicas":3}}`).Status)
	scale := get(widgets + "/a/scale")
	assert.Equal(t, map[string]any{"replicas": int64(3)}, scale["spec"])
	assert.Equal(t, map[string]any{"replicas": int64(2), "selector": "a=b"}, scale["status"])
	assert.Equal(t, int64(2), get(widgets + "/a")["metadata"].(map[string]any)["generation"])
}

func TestFieldsOfADefinitionSelect(t *testing.T) {
	t.Parallel()
	d := serve(t, definition(t, spec(`{"type":"object","properties":{"size":{"type":"integer"}}}`)))
	d.Must("POST", widgets, widget("a", `{"size":1}`))
	d.Must("POST", widgets, widget("b", `{"size":2}`))
	d.Must("POST", widgets, widget("c", `{}`))
	for selector, want := range map[string][]string{"spec.size=1": {"a"}, "spec.size!=1": {"b", "c"}, "spec.size=": {"c"}, "metadata.name=b,spec.size=2": {"b"}} {
		names, _ := d.Must("GET", widgets+"?fieldSelector="+selector, "").Names()
		assert.Equal(t, want, names, selector)
	}
	assert.Equal(t, "field label not supported: spec.other", d.Do("GET", widgets+"?fieldSelector=spec.other=1", "").Error().Message)
}

func TestAnUpdateNamesTheVersionThatItReplaces(t *testing.T) {
	t.Parallel()
	d := serve(t, definition(t, spec(`{"type":"object"}`)))
	d.Must("POST", widgets, widget("a", `{}`))
	assert.Equal(t, `widgets.example.com "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`, d.Do("PUT", widgets+"/a", widget("a", `{}`)).Error().Message)
	answer := d.Patch(widgets+"/a", StrategicPatch, `{}`)
	assert.Equal(t, 415, answer.Status)
	assert.Contains(t, answer.Error().Message, "accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
}

func TestFinalizersThatOthersMayUseTooAreWarnedOf(t *testing.T) {
	t.Parallel()
	d := serve(t, definition(t, spec(`{"type":"object"}`)))
	answer := d.Must("POST", widgets, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","finalizers":["mine","a.b","a.b/c","orphan"]}}`)
	assert.Equal(t, []string{
		`299 - "metadata.finalizers: \"mine\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"`,
		`299 - "metadata.finalizers: \"a.b\": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"`,
	}, answer.Header["Warning"])
}

func TestADeprecatedVersionWarns(t *testing.T) {
	t.Parallel()
	crd := definition(t, `"deprecated":true,`+spec(`{"type":"object"}`))
	newer := crd.Spec.Versions[0].DeepCopy()
	newer.Name, newer.Storage, newer.Deprecated = "v2", false, false
	crd.Spec.Versions = append(crd.Spec.Versions, *newer)
	d := serve(t, crd)
	const warning = `299 - "example.com/v1 Widget is deprecated; use example.com/v2 Widget"`
	assert.Equal(t, []string{warning}, d.Must("POST", widgets, widget("a", `{}`)).Header["Warning"])
	assert.Equal(t, []string{warning}, d.Must("GET", widgets+"/a/status", "").Header["Warning"])
	assert.Empty(t, d.Must("GET", strings.Replace(widgets, "v1", "v2", 1), "").Header["Warning"])
}

// Whatever a valid schema and an object are, nothing panics, and what is stored is what was answered.
func FuzzSchemasAndObjects(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"size":{"type":"integer","default":1}}}`, `{"size":5,"x":1}`},
		{`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, `{"a":{"b":[null,1.5,"x"]}}`},
		{`{"type":"object","additionalProperties":{"type":"array","items":{"x-kubernetes-int-or-string":true}}}`, `{"a":[1,"b",2.5]}`},
		{`{"type":"object","x-kubernetes-validations":[{"rule":"self.size < 5"}],"properties":{"size":{"type":"integer","nullable":true}}}`, `{"size":null}`},
		{`{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}`, `["a","a"]`},
		{`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":5,"labels":{"a":1}}}`},
		{`{"type":"string","pattern":"^a+$","format":"ipv4"}`, `"aaa"`},
		{`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"type":"string"},"b":{"type":"number"}}}`, `{"a":"x","b":1}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(fuzzObject)
}

// Whatever a rule and an object are, nothing panics, and the rule costs no more than today's limits allow.
func FuzzRules(f *testing.F) {
	for _, seed := range [][2]string{
		{`self.size < 5 && self.names.all(n, n.startsWith(self.prefix))`, `{"size":5,"names":["a","b"],"prefix":"a"}`},
		{`self.size == oldSelf.size || has(self.names)`, `{"size":1}`},
		{`self.names.map(n, self.names.map(m, m + n)).size() < 9`, `{"names":["a","b","c"]}`},
		{`self.prefix.matches('^(a+)+$') && self.prefix.find('[0-9]+') != ''`, `{"prefix":"aaaaaaaaaaaaaaaaaaaaaaaaaaaab"}`},
		{`quantity(self.prefix).isGreaterThan(quantity('1Gi'))`, `{"prefix":"2Gi"}`},
		{`url(self.prefix).getHost() == 'x' && ip(self.prefix).family() == 4`, `{"prefix":"http://x/"}`},
		{`self.size / 0 == 1 || int(self.prefix) > 9223372036854775807`, `{"size":1,"prefix":"9223372036854775808"}`},
		{`timestamp(self.prefix) + duration('1h') > timestamp('2014-06-06T00:00:00Z')`, `{"prefix":"2014-06-06T00:00:00Z"}`},
		{`self.names.sortBy(n, n)[99] == 'a' || optional.of(self.size).orValue(1) == 1`, `{"size":1,"names":["b","a"]}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, rule, object string) {
		text, err := json.Marshal(rule)
		require.NoError(t, err)
		fuzzObject(t, `{"type":"object","x-kubernetes-validations":[{"rule":`+string(text)+`}],"properties":{"size":{"type":"integer"},"prefix":{"type":"string","maxLength":64},
"names":{"type":"array","maxItems":16,"items":{"type":"string","maxLength":16}}}}`, object)
	})
}

// fuzzObject writes an object with a schema, if that is valid.
func fuzzObject(t *testing.T, schema, object string) {
	if !json.Valid([]byte(schema)) || !json.Valid([]byte(object)) {
		return
	}
	definitions := apiextensions.NewDefinitions(base())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	text := `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":` + schema + `}}}}]}}`
	if json.Unmarshal([]byte(text), crd) != nil {
		return
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
	if len(definitions.Whole.Strategy.Validate(crd)) > 0 {
		return
	}
	crd.Status.AcceptedNames = crd.Spec.Names
	d := serve(t, crd)
	answer := d.Do("POST", widgets, widget("a", object))
	assert.NotEqual(t, 500, answer.Status, answer.Text)
	if answer.Status == 201 {
		assert.Equal(t, answer.Text, d.Must("GET", widgets+"/a", "").Text)
		assert.Equal(t, 200, d.Do("PUT", widgets+"/a", answer.Text).Status)
	}
}

func TestAnObjectWithoutAGoTypeHasOnlyItsMetadataInProtobuf(t *testing.T) {
	t.Parallel()
	const protobuf, metadata = "application/vnd.kubernetes.protobuf", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	d := serve(t, definition(t, spec(`{"type":"object","properties":{"replicas":{"type":"integer"}}}`)))
	d.Must("POST", widgets, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","labels":{"x":"y"}},"spec":{"replicas":1}}`)
	for _, path := range []string{widgets, widgets + "/a", widgets + "?watch=1&timeoutSeconds=1"} {
		refused := d.Do("GET", path, "", "Accept", protobuf)
		assert.Equal(t, 406, refused.Status, path)
		assert.Equal(t, protobuf, refused.Header.Get("Content-Type"))
		assert.Contains(t, refused.Text, "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf")
		assert.Equal(t, "application/json", d.Must("GET", path, "", "Accept", protobuf+",application/json").Header.Get("Content-Type"), path)
	}
	assert.Contains(t, d.Must("GET", widgets+"/a", "", "Accept", "application/yaml").Text, "spec:\n  replicas: 1\n")

	message := func(path, form string) []byte {
		envelope, err := bodies.Unwrap([]byte(d.Must("GET", path, "", "Accept", protobuf+form).Text))
		require.NoError(t, err)
		return envelope.Raw
	}
	var want metav1.PartialObjectMetadata
	d.Must("GET", widgets+"/a", "", "Accept", "application/json"+metadata).Into(&want)
	var one metav1.PartialObjectMetadata
	require.NoError(t, one.Unmarshal(message(widgets+"/a", metadata)))
	assert.Equal(t, want.ObjectMeta, one.ObjectMeta)
	var list metav1.PartialObjectMetadataList
	require.NoError(t, list.Unmarshal(message(widgets, ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")))
	require.Len(t, list.Items, 1)
	assert.Equal(t, want.ObjectMeta, list.Items[0].ObjectMeta)

	assert.NotEmpty(t, message(widgets+"/a/scale", ""), "K102")
}
