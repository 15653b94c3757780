package typed

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	v1 "kube2014/pkg/api/v1"
)

// newFiller returns a filler of objects with values that JSON can say.
func newFiller(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(14).Funcs(
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(1+c.Int63n(1<<33), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) {
			*t = metav1.NewMicroTime(time.UnixMicro(1 + c.Int63n(1<<50)))
		},
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.Raw = []byte(`{"f:a":{}}`) },
		func(q *resource.Quantity, c randfill.Continue) { *q = resource.MustParse(fmt.Sprint(c.Intn(3))) },
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(c.Int31n(2))
			if c.Bool() {
				*v = intstr.FromString(few(c))
			}
		},
		func(r *runtime.RawExtension, c randfill.Continue) {
			*r = runtime.RawExtension{Raw: []byte(`{"a":` + fmt.Sprint(c.Intn(2)) + `}`)}
		},
		func(v *apiextensionsv1.JSON, c randfill.Continue) {
			v.Raw = []byte([]string{`{"a":1}`, `"x"`, `[]`}[c.Intn(3)])
		},
		// Few values, so that two objects have the same keys.
		func(s *string, c randfill.Continue) { *s = few(c) },
		func(i *int32, c randfill.Continue) { *i = c.Int31n(2) },
		func(i *int64, c randfill.Continue) { *i = c.Int63n(2) },
	)
}

func few(c randfill.Continue) string { return []string{"a", "b", "c"}[c.Intn(3)] }

func TestKeysThatAreLeftOutHaveTheirDefault(t *testing.T) {
	t.Parallel()
	pod, err := Of(reflect.TypeFor[corev1.Pod]()).FromYAML(`{"spec":{"containers":[{"name":"a","ports":[{"containerPort":80}]}]}}`)
	require.NoError(t, err)
	fields, err := pod.ToFieldSet()
	require.NoError(t, err)
	assert.Contains(t, fields.String(), `.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].containerPort`)
}

func TestFieldsThatAKindDoesNotHaveAreErrors(t *testing.T) {
	t.Parallel()
	_, err := Of(reflect.TypeFor[corev1.Pod]()).FromYAML(`{"spec":{"kontainers":[]}}`)
	require.ErrorContains(t, err, ".spec.kontainers: field not declared in schema")
}

func TestObjectsOfOneKindCanBeComparedWhoeverAskedForTheType(t *testing.T) {
	t.Parallel()
	var of [8]typed.ParseableType
	var all sync.WaitGroup
	for i := range of {
		all.Go(func() { of[i] = Of(reflect.TypeFor[corev1.ResourceQuota]()) })
	}
	all.Wait()
	for _, other := range of {
		assert.Same(t, of[0].Schema, other.Schema)
	}
}

func TestTypesThatReferToThemselvesAreCompared(t *testing.T) {
	t.Parallel()
	of := Of(reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]())
	definition := func(kind string) *typed.TypedValue {
		value, err := of.FromYAML(typed.YAMLObject(`{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"properties":{"spec":{"type":"` + kind + `"}}}}}]}}`))
		require.NoError(t, err)
		return value
	}
	compared, err := definition("object").Compare(definition("string"))
	require.NoError(t, err)
	assert.Equal(t, `.spec.versions`, compared.Modified.String())
	merged, err := definition("object").Merge(definition("string"))
	require.NoError(t, err)
	compared, err = merged.Compare(definition("string"))
	require.NoError(t, err)
	assert.True(t, compared.IsSame())
}

func TestAnOwnKindIsMergedByItsSchema(t *testing.T) {
	t.Parallel()
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	with := func(schema map[string]any, key string, value any) map[string]any { schema[key] = value; return schema }
	text := map[string]any{"type": "string"}
	list := func(of map[string]any) map[string]any { return map[string]any{"type": "array", "items": of} }
	of, err := OfSchema(object(map[string]any{"spec": object(map[string]any{
		"atomic": list(text),
		"set":    with(list(text), "x-kubernetes-list-type", "set"),
		"keyed": with(with(list(object(map[string]any{"name": text, "port": map[string]any{"type": "integer", "default": 80}})),
			"x-kubernetes-list-type", "map"), "x-kubernetes-list-map-keys", []any{"name", "port"}),
		"whole":    with(object(map[string]any{"a": text}), "x-kubernetes-map-type", "atomic"),
		"map":      map[string]any{"type": "object", "additionalProperties": text},
		"free":     map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		"any":      map[string]any{"x-kubernetes-preserve-unknown-fields": true},
		"either":   map[string]any{"x-kubernetes-int-or-string": true},
		"embedded": map[string]any{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
	})}))
	require.NoError(t, err)
	for sentence, row := range map[string]struct{ object, fields string }{
		"an atomic list is one value":            {`{"spec":{"atomic":["a"]}}`, ".spec.atomic"},
		"a set has its values":                   {`{"spec":{"set":["a"]}}`, `.spec.set[="a"]`},
		"a list has its keys, with defaults":     {`{"spec":{"keyed":[{"name":"a"}]}}`, `.spec.keyed[name="a",port=80] .spec.keyed[name="a",port=80].name`},
		"an atomic object is one value":          {`{"spec":{"whole":{"a":"b"}}}`, ".spec.whole"},
		"a map has its keys":                     {`{"spec":{"map":{"a":"b"}}}`, ".spec.map.a"},
		"unknown fields are kept":                {`{"spec":{"free":{"a":{"b":1}}}}`, ".spec.free.a .spec.free.a.b"},
		"any value is a number":                  {`{"spec":{"any":1}}`, ".spec.any"},
		"any value is a list":                    {`{"spec":{"any":[{"a":1}]}}`, ".spec.any"},
		"a number or a text":                     {`{"spec":{"either":"1"}}`, ".spec.either"},
		"metadata is that of all objects":        {`{"apiVersion":"a/v1","kind":"B","metadata":{"finalizers":["x"],"labels":{"a":"b"}}}`, `.apiVersion .kind .metadata.finalizers[="x"] .metadata.labels.a`},
		"metadata of objects in objects as well": {`{"spec":{"embedded":{"metadata":{"finalizers":["x"]},"more":1}}}`, `.spec.embedded.metadata.finalizers[="x"] .spec.embedded.more`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			value, err := of.FromYAML(typed.YAMLObject(row.object))
			require.NoError(t, err)
			fields, err := value.ToFieldSet()
			require.NoError(t, err)
			lines := strings.Split(fields.String(), "\n")
			slices.Sort(lines)
			assert.Equal(t, row.fields, strings.Join(lines, " "))
		})
	}
	_, err = of.FromYAML(`{"spec":{"other":1}}`)
	require.ErrorContains(t, err, "field not declared in schema")
}

func TestAnOwnKindWithoutASchemaHasAnyFields(t *testing.T) {
	t.Parallel()
	of, err := OfSchema(nil)
	require.NoError(t, err)
	_, err = of.FromYAML(`{"a":{"b":[1]}}`)
	require.NoError(t, err)
}

func TestASchemaThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, schema := range []map[string]any{{"type": 1}, {"type": "array"}, {"type": "what"}} {
		_, err := OfSchema(schema)
		require.ErrorContains(t, err, "schema: ")
	}
}

func BenchmarkAllKinds(b *testing.B) {
	for b.Loop() {
		clear(made.kinds)
		clear(made.structs)
		for _, of := range v1.Scheme.AllKnownTypes() {
			Of(of)
		}
	}
}

func BenchmarkPod(b *testing.B) {
	for b.Loop() {
		clear(made.kinds)
		clear(made.structs)
		Of(reflect.TypeFor[corev1.Pod]())
	}
}

func BenchmarkOwn(b *testing.B) {
	schema := map[string]any{"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": map[string]any{
		"replicas": map[string]any{"type": "integer"}, "image": map[string]any{"type": "string"},
		"ports": map[string]any{"type": "array", "items": map[string]any{"type": "integer"}},
	}}}}
	for b.Loop() {
		_, err := OfSchema(schema)
		require.NoError(b, err)
	}
}

func TestTheFieldsOfANewObjectAreThoseInWhichItDiffersFromAnEmptyOne(t *testing.T) {
	t.Parallel()
	stripped := fieldpath.NewSet(fieldpath.MakePathOrDie("kind"), fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("metadata", "labels"))
	for kind, of := range v1.Scheme.AllKnownTypes() {
		if _, is := reflect.New(of).Interface().(metav1.Object); !is {
			continue
		}
		t.Run(kind.String(), func(t *testing.T) {
			found := 0
			for seed := range int64(20) {
				object, err := v1.Scheme.New(kind)
				require.NoError(t, err)
				newFiller(seed).Fill(object)
				got, ok := Fields(object, map[string]bool{"kind": true, "apiVersion": true, "metadata.labels": true})
				if !ok {
					continue
				}
				found++
				empty, err := v1.Scheme.New(kind)
				require.NoError(t, err)
				from, err := Of(of).FromStructured(empty, typed.AllowDuplicates)
				require.NoError(t, err)
				to, err := Of(of).FromStructured(object, typed.AllowDuplicates)
				require.NoError(t, err)
				difference, err := from.Compare(to)
				require.NoError(t, err)
				want, err := fieldpath.NewExcludeSetFilter(stripped).Filter(difference.Added.Union(difference.Modified)).ToJSON()
				require.NoError(t, err)
				require.Equal(t, string(want), string(got), "seed %d", seed)
			}
			if kind.Kind != "CustomResourceDefinition" { // schemas have values of any form
				require.Greater(t, found, 15)
			}
		})
	}
}
