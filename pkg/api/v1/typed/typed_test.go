package typed

import (
	"math/rand"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"

	v1 "kube2014/pkg/api/v1"
)

// The types are those of client-go, which are made of the OpenAPI of today's server.
func TestObjectsOfAllKindsHaveTheFieldsThatClientsKnow(t *testing.T) {
	t.Parallel()
	theirs := applyconfigurations.NewTypeConverter(scheme.Scheme)
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), serializer.NewCodecFactory(scheme.Scheme))
	compared := 0
	for kind, of := range v1.Scheme.AllKnownTypes() {
		random := func() runtime.Object {
			object := reflect.New(of).Interface().(runtime.Object)
			fill.Fill(object)
			object.GetObjectKind().SetGroupVersionKind(kind)
			return object
		}
		if _, err := theirs.ObjectToTyped(random()); err != nil {
			continue // clients do not apply it
		}
		compared++
		var wanted, got [2]*smd.TypedValue
		for i := range wanted {
			var err error
			object := random()
			wanted[i], err = theirs.ObjectToTyped(object, smd.AllowDuplicates)
			require.NoError(t, err)
			got[i], err = Of(of).FromStructured(object, smd.AllowDuplicates)
			require.NoError(t, err)
			assertSameFields(t, wanted[i], got[i], kind.String())
		}
		wantedMerged, wantedErr := wanted[0].Merge(wanted[1])
		merged, err := got[0].Merge(got[1])
		assert.Equal(t, wantedErr, err, kind)
		if err == nil {
			assertSameFields(t, wantedMerged, merged, kind.String()+" merged")
			assert.Equal(t, wantedMerged.AsValue().Unstructured(), merged.AsValue().Unstructured(), kind)
		}
	}
	assert.Greater(t, compared, 60)
}

func assertSameFields(t *testing.T, wanted, got *smd.TypedValue, what string) {
	t.Helper()
	want, wantedErr := wanted.ToFieldSet()
	have, err := got.ToFieldSet()
	assert.Equal(t, wantedErr, err, what)
	if err == nil {
		assert.True(t, want.Equals(have), "%s: only theirs: %v, only ours: %v", what, want.Difference(have), have.Difference(want))
	}
}

func TestAnEmbeddedObjectOfAKindWithASchemaHasMetadata(t *testing.T) {
	t.Parallel()
	object := func(more string) map[string]any {
		return map[string]any{"type": "object", "properties": map[string]any{
			"template": map[string]any{"type": "object", "x-kubernetes-embedded-resource": true, "properties": map[string]any{}},
			"list":     map[string]any{"type": "array", "x-kubernetes-list-type": more, "items": map[string]any{"type": "string"}}}}
	}
	of, err := OfSchema(object("set"))
	require.NoError(t, err)
	value := map[string]any{"kind": "K", "metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "list": []any{"x"},
		"template": map[string]any{"apiVersion": "v1", "metadata": map[string]any{"finalizers": []any{"f"}}}}
	typed, err := of.FromUnstructured(value)
	require.NoError(t, err)
	fields, err := typed.ToFieldSet()
	require.NoError(t, err)
	for _, path := range []string{".metadata.labels.a", `.list[="x"]`, ".template.apiVersion", `.template.metadata.finalizers[="f"]`} {
		assert.Contains(t, fields.String(), path)
	}
	_, err = of.FromUnstructured(map[string]any{"nope": 1})
	assert.ErrorContains(t, err, ".nope: field not declared in schema")
	_, err = OfSchema(object("odd"))
	assert.ErrorContains(t, err, "unknown list type odd")
	free, err := OfSchema(nil)
	require.NoError(t, err)
	_, err = free.FromUnstructured(map[string]any{"nope": 1})
	assert.NoError(t, err)
}
