package openapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	openapi "k8s.io/kube-openapi/pkg/util/proto"

	"kube2014/pkg/endpoints/discovery"
	"kube2014/pkg/rest"
)

// recordedOwn is what kube-apiserver 1.36.3 published of a CustomResourceDefinition.
type recordedOwn struct {
	Schemas     map[string]map[string]any // by version, as in the definition
	Components  map[string]any            // of version 3
	Definitions map[string]any            // of version 2
}

// ofWidgets returns a version with an own kind that has a schema.
func ofWidgets(version string, schemaOfIt func() (map[string]any, error)) Version {
	gv := schema.GroupVersion{Group: "stable.example.com", Version: version}
	return Version{
		discovery.Version{GroupVersion: gv, Resources: []metav1.APIResource{{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: metav1.Verbs{"get", "list", "patch", "watch"}}}},
		[]*rest.Resource{{GroupVersion: gv, Kind: gv.WithKind("Widget"), Name: "widgets", Schema: schemaOfIt}},
	}
}

func returns(schema map[string]any) func() (map[string]any, error) {
	return func() (map[string]any, error) { return schema, nil }
}

// ownOf returns the schemas of a document whose names begin with that of the group.
func ownOf(t *testing.T, d *Documents, path string) map[string]any {
	var document struct {
		Definitions map[string]any
		Components  struct{ Schemas map[string]any }
	}
	w := get(d, path, nil)
	require.Equal(t, http.StatusOK, w.Code)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &document))
	all := document.Definitions
	if all == nil {
		all = document.Components.Schemas
	}
	own := map[string]any{}
	for name, schema := range all {
		if name[:4] == "com." {
			own[name] = schema
		}
	}
	return own
}

func TestOwnKindsAreDescribedAsByTheRealServer(t *testing.T) {
	t.Parallel()
	var real recordedOwn
	readJSON(t, "testdata/own.json", &real)
	before, err := json.Marshal(real.Schemas)
	require.NoError(t, err)
	d := New([]Version{ofWidgets("v1", returns(real.Schemas["v1"])), ofWidgets("v2", returns(real.Schemas["v2"]))}, nil)

	components := ownOf(t, d, root+"/apis/stable.example.com/v1")
	for name, schema := range ownOf(t, d, root+"/apis/stable.example.com/v2") {
		components[name] = schema
	}
	assert.Equal(t, real.Components, components)
	assert.Equal(t, real.Definitions, ownOf(t, d, pathV2))

	after, err := json.Marshal(real.Schemas)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after), "schemas are only read")
}

func TestAnOwnKindWithoutASchemaIsAnyObject(t *testing.T) {
	t.Parallel()
	for sentence, schemaOfIt := range map[string]func() (map[string]any, error){
		"it has none":             returns(nil),
		"it cannot be read":       func() (map[string]any, error) { return nil, errors.New("no") },
		"it says hardly anything": returns(map[string]any{"type": "object", keepsUnknown: true}),
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			d := New([]Version{ofWidgets("v1", schemaOfIt)}, nil)
			want := map[string]any{"type": "object", kindsOf: []any{map[string]any{"group": "stable.example.com", "version": "v1", "kind": "Widget"}}}
			assert.Equal(t, want, ownOf(t, d, pathV2)["com.example.stable.v1.Widget"])
		})
	}
}

func TestAnOwnKindHasNeitherStrategicMergeNorTheOldPathsOfWatches(t *testing.T) {
	t.Parallel()
	d := New([]Version{ofWidgets("v1", returns(nil))}, nil)
	var document readDocument
	require.NoError(t, json.Unmarshal(get(d, root+"/apis/stable.example.com/v1", nil).Body.Bytes(), &document))
	assert.Len(t, document.Paths, 3)
	patch := document.Paths["/apis/stable.example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
	types, _ := contentOf(patch.RequestBody.Content)
	assert.Equal(t, []string{"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"}, types)
	assert.Equal(t, object{Ref: components + "com.example.stable.v1.Widget"}, patch.Responses["200"].Content["application/json"].Schema)
}

func TestAValueThatIsANumberOrATextSaysSo(t *testing.T) {
	t.Parallel()
	other := []any{map[string]any{"minimum": 1.0}, map[string]any{"pattern": "a"}}
	for sentence, row := range map[string]struct{ of, want map[string]any }{
		"nothing is said":        {map[string]any{}, map[string]any{"anyOf": numberOrText}},
		"it is said":             {map[string]any{"anyOf": numberOrText}, map[string]any{"anyOf": numberOrText}},
		"it is said among all":   {map[string]any{"allOf": []any{map[string]any{"anyOf": numberOrText}}}, map[string]any{"allOf": []any{map[string]any{"anyOf": numberOrText}}}},
		"something else is said": {map[string]any{"anyOf": other}, map[string]any{"anyOf": other, "allOf": []any{map[string]any{"anyOf": numberOrText}}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			row.of[isNumberOrText], row.want[isNumberOrText] = true, true
			assert.Equal(t, row.want, new(schemas).structural(row.of))
		})
	}
}

func TestOnlyWhatChangesIsDescribedAnew(t *testing.T) {
	t.Parallel()
	var read [2]int
	counted := func(i int, schema map[string]any) Version {
		return ofWidgets([]string{"v1", "v2"}[i], func() (map[string]any, error) {
			read[i]++
			return schema, nil
		})
	}
	tag := func(d *Documents, version string) string {
		return get(d, root+"/apis/stable.example.com/"+version, nil).Header().Get("ETag")
	}
	one, other := counted(0, map[string]any{"type": "object"}), counted(1, map[string]any{"type": "object"})
	d := New([]Version{one, other}, nil)
	index := get(d, root, nil).Body.String()
	assert.Equal(t, [2]int{1, 1}, read, "the index needs hashes, which are of the schemas")
	v1, v2 := tag(d, "v1"), tag(d, "v2")
	assert.Contains(t, index, v1[1:len(v1)-1])
	once := read

	next := d.Next([]Version{one, counted(1, map[string]any{"type": "object", "description": "Another."})}, nil)
	assert.Equal(t, v1, tag(next, "v1"))
	assert.NotEqual(t, v2, tag(next, "v2"))
	assert.Equal(t, once[0], read[0])
	assert.Greater(t, read[1], once[1])
	assert.NotEqual(t, index, get(next, root, nil).Body.String())
	assert.Equal(t, v2, tag(New([]Version{counted(1, map[string]any{"type": "object"})}, nil), "v2"), "the same schema has the same hash in every server")
	assert.Equal(t, http.StatusMovedPermanently, get(next, root+"/apis/stable.example.com/v2?hash="+v2[1:len(v2)-1], nil).Code)
	gone := next.Next([]Version{one}, nil)
	assert.Equal(t, http.StatusNotFound, get(gone, root+"/apis/stable.example.com/v2", nil).Code)
}

// kubectl before 1.28 reads version 2 like this.
func TestKubectlReadsVersion2InProtobuf(t *testing.T) {
	t.Parallel()
	var real recordedOwn
	readJSON(t, "testdata/own.json", &real)
	versions, types := served(t)
	d := New(append(versions, ofWidgets("v1", returns(real.Schemas["v1"]))), types)
	for _, accepted := range []string{typeProtobufV2, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", typeProtobufV2 + ", application/json"} {
		w := get(d, pathV2, http.Header{"Accept": {accepted}})
		assert.Equal(t, typeProtobufV2, w.Header().Get("Content-Type"), accepted)
		document := &openapi_v2.Document{}
		require.NoError(t, proto.Unmarshal(w.Body.Bytes(), document), accepted)
		models, err := openapi.NewOpenAPIData(document)
		require.NoError(t, err, accepted)
		spec := models.LookupModel("com.example.stable.v1.Widget").(*openapi.Kind).Fields["spec"].(*openapi.Kind)
		assert.Equal(t, "How large.", spec.Fields["size"].GetDescription())
		assert.NotNil(t, models.LookupModel(core+"Pod"))

		validated := map[string]bool{}
		for _, path := range document.Paths.Path {
			if path.Value.Patch == nil {
				continue
			}
			for _, p := range path.Value.Patch.Parameters {
				if query := p.GetParameter().GetNonBodyParameter().GetQueryParameterSubSchema(); query.GetName() == "dryRun" {
					validated[path.Name] = true
				}
			}
			assert.True(t, validated[path.Name], path.Name)
		}
		assert.True(t, validated["/apis/stable.example.com/v1/namespaces/{namespace}/widgets/{name}"])
	}
}

func TestVersion2IsFoundByTypeAndTag(t *testing.T) {
	t.Parallel()
	d := New(served(t))
	for accepted, want := range map[string]string{
		"": "application/json", "*/*": "application/json", "application/json;q=0.5, " + typeProtobufV2: typeProtobufV2, "text/html": "",
	} {
		w := get(d, pathV2, http.Header{"Accept": {accepted}})
		assert.Equal(t, want, w.Header().Get("Content-Type"), accepted)
		assert.Equal(t, want == "", w.Code == http.StatusNotAcceptable, accepted)
		assert.Equal(t, "Accept", w.Header().Get("Vary"))
		if tag := w.Header().Get("ETag"); tag != "" {
			again := get(d, pathV2, http.Header{"Accept": {accepted}, "If-None-Match": {tag}})
			assert.Equal(t, http.StatusNotModified, again.Code)
			assert.Empty(t, again.Body.Bytes())
		}
	}
	assert.Equal(t, get(New(served(t)), pathV2, nil).Body.String(), get(d, pathV2, nil).Body.String(), "two servers write the same bytes")
}

func TestASchemaThatVersion2DoesNotKnowIsOnlyInJSON(t *testing.T) {
	t.Parallel()
	d := New([]Version{ofWidgets("v1", returns(map[string]any{"type": "object", "unheardOf": true}))}, nil)
	assert.Equal(t, http.StatusOK, get(d, pathV2, nil).Code)
	w := get(d, pathV2, http.Header{"Accept": {typeProtobufV2}})
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Contains(t, w.Body.String(), "unheardOf")
}

func TestAListMayHaveAnotherName(t *testing.T) {
	t.Parallel()
	version := ofWidgets("v1", returns(nil))
	version.Rows[0].Untyped.ListKind = "Widgets"
	d := New([]Version{version}, nil)
	assert.Contains(t, ownOf(t, d, root+"/apis/stable.example.com/v1"), "com.example.stable.v1.Widgets")
	assert.Contains(t, get(d, pathV2, nil).Body.String(), `{"$ref":"#/definitions/com.example.stable.v1.Widgets"}`)
}
