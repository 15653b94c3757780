package v1

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1beta1"
)

func TestASchemeOfBothVersionsSaysWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for text, row := range map[string]struct {
		object  interface{}
		version string
	}{
		`no kind "Pod" is registered for version "v7"`:                                                     {&corev1.Pod{}, "v7"},
		`no kind "Task" is registered for version "v7"`:                                                    {&api.Task{}, "v7"},
		`no kind "TaskList" is registered for version "v1"`:                                                {&api.TaskList{}, Version},
		`no kind is registered for the type v1.Secret`:                                                     {&corev1.Secret{}, Version},
		`converting (v1.Pod) to (version v1beta1): versions convert only to and from the internal one`:     {&corev1.Pod{}, v1beta1.Version},
		`converting (v1beta1.Service) to (version v1): versions convert only to and from the internal one`: {v1beta1.Service{}, Version},
		`converting (v1.Pod) to (api.Task): the object is nil`:                                             {(*corev1.Pod)(nil), conversion.Internal},
	} {
		converted, err := both.ConvertToVersion(row.object, row.version)
		require.EqualError(t, err, text)
		assert.Nil(t, converted)
	}
}

// note notes which fields a value reaches, and whether one of them is set.
func note(reached map[string]bool, value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			note(reached, value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			note(reached, value.Index(i))
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() {
				name := value.Type().String() + "." + field.Name
				reached[name] = reached[name] || !value.Field(i).IsZero()
				note(reached, value.Field(i))
			}
		}
	}
}

// The round trips mean something only if each field is set in one of them.
func TestTheRoundTripsReachEachField(t *testing.T) {
	t.Parallel()
	reached := map[string]bool{}
	for _, kind := range v1Kinds {
		for seed := range int64(seeds) {
			note(reached, reflect.ValueOf(makeV1(t, kind, seed)))
		}
	}
	assert.Contains(t, reached, "v1.HTTPGetAction.Scheme")
	for field, set := range reached {
		if typeMeta := strings.HasPrefix(field, "v1.TypeMeta.") || strings.HasSuffix(field, ".TypeMeta"); !typeMeta {
			assert.True(t, set, field)
		}
	}
}

func TestEachKindHasItsTypeInBothVersions(t *testing.T) {
	t.Parallel()
	for kind, want := range storedAs {
		assert.Equal(t, want, in(t, codecOf(kind).New().(object)).Key().Kind)
	}
}

func TestAnObjectOfTheFirstDoorHasAVersionAUIDAndNoTimeInV1(t *testing.T) {
	t.Parallel()
	task := &api.Task{JSONBase: api.JSONBase{ID: "web"}, ObjectMeta: api.ObjectMeta{ResourceVersion: 7, CreationVersion: 5}}
	pod := out(t, task)
	assert.Equal(t, "7", pod.GetResourceVersion())
	assert.EqualValues(t, api.UIDOf(task), pod.GetUID())
	assert.Equal(t, "default", pod.GetNamespace())
	assert.True(t, pod.GetCreationTimestamp().Time.IsZero())
	node := out(t, &api.Any{Kind: api.NodeKind, ID: "machine-1"})
	assert.Equal(t, "", node.GetNamespace())
}

func TestMetadataThatOnlyTheServerKnowsIsNotRemainder(t *testing.T) {
	t.Parallel()
	created := time.Date(2014, 6, 6, 23, 40, 48, 0, time.UTC)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", SelfLink: "/n", CreationTimestamp: metav1.Time{Time: created},
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, ManagedFields: []metav1.ManagedFieldsEntry{}}}
	want := &api.Any{Kind: api.NodeKind, ID: "n", Labels: node.Labels,
		ObjectMeta: api.ObjectMeta{UID: "u", CreationTime: created, Annotations: node.Annotations, ManagedFields: api.ManagedFields{}}}
	assert.Equal(t, want, in(t, node), "it has no remainder")
}

func TestAPodIsHeldWhileSomebodyElsePlacesIt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		spec corev1.PodSpec
		held bool
	}{
		"without a scheduler's name": {corev1.PodSpec{}, false},
		"with the name of the usual": {corev1.PodSpec{SchedulerName: "default-scheduler"}, false},
		"with the name of another":   {corev1.PodSpec{SchedulerName: "other"}, true},
		"with something to wait for": {corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}}, true},
	} {
		assert.Equal(t, row.held, in(t, &corev1.Pod{Spec: row.spec}).(*api.Task).Held, name)
	}
}

func TestAServiceWithoutSelectorSelectsNothing(t *testing.T) {
	t.Parallel()
	assert.True(t, in(t, &corev1.Service{}).(*api.Service).SelectsNothing)
	assert.False(t, in(t, &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"}}}).(*api.Service).SelectsNothing)
}

func TestEndpointsWithTheLabelOfAControllerAreManaged(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		labels  map[string]string
		managed bool
	}{
		"no labels":               {nil, false},
		"another label":           {map[string]string{"a": "endpoint-controller"}, false},
		"no name of a controller": {map[string]string{managedBy: ""}, false},
		"today's controller":      {map[string]string{"a": "b", managedBy: "endpoint-controller"}, true},
	} {
		endpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: row.labels}}
		internal := in(t, endpoints).(*api.Endpoints)
		assert.Equal(t, row.managed, internal.Managed, name)
		assert.Equal(t, row.labels, out(t, internal).(*corev1.Endpoints).Labels, name)
		freed := putV1(t, internal, func(v1 object) { v1.SetLabels(nil) }).(*api.Endpoints)
		assert.False(t, freed.Managed, name)
	}
}

func TestALimitIsANumberThatJune2014CanHold(t *testing.T) {
	t.Parallel()
	for quantity, want := range map[string]struct{ memory, cpu int }{
		"0": {0, 0}, "64Mi": {64 << 20, 64 << 20 * 1000}, "100.5": {101, 100500}, "1m": {1, 1}, "1u": {1, 1}, "-5": {-5, -5000}, "-1.5": {-2, -1500},
		"100E": {math.MaxInt, math.MaxInt}, "-100E": {math.MinInt, math.MinInt}, "9E": {9e18, math.MaxInt}, "1e100": {math.MaxInt, math.MaxInt},
		"9223372036854775807": {math.MaxInt, math.MaxInt}, "9223372036854775808": {math.MaxInt, math.MaxInt},
		"-9223372036854775807": {math.MinInt + 1, math.MinInt}, "-9223372036854775808": {math.MinInt, math.MinInt},
	} {
		limits := corev1.ResourceList{"memory": resource.MustParse(quantity), "cpu": resource.MustParse(quantity)}
		same := limits.DeepCopy()
		container := inContainer(corev1.Container{Resources: corev1.ResourceRequirements{Limits: limits}})
		assert.Equal(t, want.memory, container.Memory, quantity)
		assert.Equal(t, want.cpu, container.CPU, quantity)
		assert.Equal(t, same, limits, "conversion changed its input")
	}
	for _, number := range []int{1, -1, 64 << 20, math.MaxInt, math.MaxInt - 1, math.MinInt, math.MinInt + 1} {
		text := encode(t, outContainer(api.Container{Memory: number, CPU: number}, corev1.Container{}))
		var back corev1.Container
		require.NoError(t, json.Unmarshal([]byte(text), &back))
		assert.Equal(t, api.Container{Memory: number, CPU: number}, inContainer(back), number)
	}
}

func TestALimitOfJune2014IsWrittenAsAClientWritesIt(t *testing.T) {
	t.Parallel()
	for number, want := range map[int][2]string{1: {"1", "1m"}, 1000: {"1k", "1"}, 1024: {"1Ki", "1024m"}, 1500: {"1500", "1500m"}, 64 << 20: {"64Mi", "67108864m"}, -2048: {"-2Ki", "-2048m"}} {
		limits := outContainer(api.Container{Memory: number, CPU: number}, corev1.Container{}).Resources.Limits
		assert.Equal(t, want, [2]string{limits.Memory().String(), limits.Cpu().String()})
	}
}

func TestANumberThatV1CannotSayIsTheNearestOne(t *testing.T) {
	t.Parallel()
	rc := &api.ReplicationController{}
	rc.DesiredState.Replicas = math.MaxInt32 + 1
	assert.EqualValues(t, math.MaxInt32, *out(t, rc).(*corev1.ReplicationController).Spec.Replicas)
	service := out(t, &api.Service{Port: math.MinInt32 - 1}).(*corev1.Service)
	assert.EqualValues(t, math.MinInt32, service.Spec.Ports[0].Port)
}

// scramble changes everything that a value reaches, but for maps.
func scramble(value reflect.Value) {
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			scramble(value.Field(i))
		}
	case reflect.Pointer:
		if !value.IsNil() && value.Elem().CanSet() {
			scramble(value.Elem())
			value.Elem().SetZero()
		}
	case reflect.Slice:
		for i := range value.Len() {
			scramble(value.Index(i))
			if value.Index(i).CanSet() {
				value.Index(i).SetZero()
			}
		}
	}
}

// A stored object is shared by all who read it.
func TestWhatIsConvertedSharesNothingButMaps(t *testing.T) {
	t.Parallel()
	for _, kind := range v1Kinds {
		v1 := makeV1(t, kind, 1)
		same := v1.DeepCopyObject()
		scramble(reflect.ValueOf(in(t, v1)).Elem())
		require.Equal(t, same, v1, kind)

		stored, unchanged := in(t, v1), in(t, v1)
		shown := out(t, stored)
		before := encode(t, shown)
		scramble(reflect.ValueOf(shown).Elem())
		require.NotEqual(t, before, encode(t, shown), kind)
		require.Equal(t, unchanged, stored, kind)

		owned := out(t, stored).DeepCopyObject().(object)
		owned.SetLabels(map[string]string{"x": "y"})
		clear(owned.GetAnnotations())
		require.Equal(t, unchanged, stored, "maps are the caller's own in a copy")
	}
}

func TestEndpointsHaveASubsetForEachPort(t *testing.T) {
	t.Parallel()
	endpoints := &api.Endpoints{Name: "web", Endpoints: []string{"10.0.0.1:80", "10.0.0.2:81", "junk", "10.0.0.3:70000", "10.0.0.3:80", "[::1]:80"},
		Targets: []api.Target{{TaskID: "a", UID: "1"}, {TaskID: "b", UID: "2"}}}
	subsets := out(t, endpoints).(*corev1.Endpoints).Subsets
	require.Len(t, subsets, 2)
	assert.Equal(t, []corev1.EndpointPort{{Port: 80, Protocol: "TCP"}}, subsets[0].Ports)
	assert.Equal(t, []corev1.EndpointPort{{Port: 81, Protocol: "TCP"}}, subsets[1].Ports)
	ref := corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "a", UID: "1"}
	assert.Equal(t, []corev1.EndpointAddress{{IP: "10.0.0.1", NodeName: new("10.0.0.1"), TargetRef: &ref}, {IP: "10.0.0.3"}, {IP: "::1"}}, subsets[0].Addresses)

	next := putV1(t, endpoints, func(v1 object) { v1.SetAnnotations(map[string]string{"a": "b"}) }).(*api.Endpoints)
	assert.Equal(t, endpoints.Endpoints, next.Endpoints)
	assert.Equal(t, endpoints.Targets, next.Targets)
	next = putV1(t, endpoints, func(v1 object) { v1.(*corev1.Endpoints).Subsets = subsets[1:] }).(*api.Endpoints)
	assert.Equal(t, []string{"10.0.0.2:81"}, next.Endpoints)
	assert.Empty(t, next.Targets)
	next.Endpoints = []string{"10.0.0.9:9"}
	assert.Equal(t, []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.0.0.9"}}, Ports: []corev1.EndpointPort{{Port: 9, Protocol: "TCP"}}}},
		out(t, next).(*corev1.Endpoints).Subsets, "what others have written since counts")
}

func TestAnAnswerIsMadeOfItems(t *testing.T) {
	t.Parallel()
	item, err := codecOf("Endpoints").EncodeItem(&api.Endpoints{Name: "web", ObjectMeta: api.ObjectMeta{UID: "u"}})
	require.NoError(t, err)
	const text = `"metadata":{"name":"web","namespace":"default","uid":"u"}}`
	assert.Equal(t, "{"+text, string(item))
	assert.Equal(t, `{"kind":"Endpoints","apiVersion":"v1",`+text, headOf("v1", "Endpoints")+string(item[1:]))

	for want, row := range map[string]struct {
		n    int
		meta ListMeta
	}{
		`{"kind":"EndpointsList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}` + "\n": {0, ListMeta{Version: 7}},
		`{"kind":"EndpointsList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c","remainingItemCount":3},"items":[{` + text + `,{` + text + "]}\n": {
			2, ListMeta{Version: 7, Continue: "c", Remaining: 3}},
	} {
		list, err := EncodeList("v1", "EndpointsList", row.meta, row.n, func(parts *conversion.Parts, _ int) error {
			parts.Add(item)
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, want, string(list.Bytes()))
		assert.Equal(t, len(want), list.Size)
	}
	made, err := Encode(&corev1.Namespace{TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}})
	require.NoError(t, err)
	assert.Equal(t, `{"kind":"Namespace","apiVersion":"v1","metadata":{},"spec":{},"status":{}}`+"\n", string(made.Bytes()))
}

func TestWhatJSONCannotSayIsAnError(t *testing.T) {
	t.Parallel()
	broken := metav1.ManagedFieldsEntry{FieldsV1: &metav1.FieldsV1{Raw: []byte("{")}}
	_, err := Encode(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{broken}}})
	require.Error(t, err)
	template := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{broken}}}
	_, err = codecOf("ReplicationController").ToInternal(&corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Template: template}})
	require.Error(t, err)
}
