package fieldmanager

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube2014/pkg/api"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
)

func of(row rest.Resource, subresource string, reset, only Fields) *Manager {
	return New(row, subresource, reset, only)
}

var pods = func() rest.Resource {
	row := rest.InNamespaces(corev1.SchemeGroupVersion, "Pod", "pods", printers.Printer{})
	row.StoredKind = api.TaskKind
	return row
}()

var configMaps = rest.InNamespaces(corev1.SchemeGroupVersion, "ConfigMap", "configmaps", printers.Printer{})

// decoded decodes an object in JSON.
func decoded[Object any](t *testing.T, text string) *Object {
	object := new(Object)
	require.NoError(t, json.Unmarshal([]byte(text), object))
	return object
}

// owners returns the fields of an object by manager.
func owners(object rest.Object) map[string]string {
	all := map[string]string{}
	for _, e := range object.GetManagedFields() {
		all[fmt.Sprint(e.Manager, " ", e.Operation)] = e.FieldsV1.GetRawString()
	}
	return all
}

const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","uid":"u"%s},"data":%s}`

func configMapWith(t *testing.T, metadata, data string) *corev1.ConfigMap {
	return decoded[corev1.ConfigMap](t, fmt.Sprintf(configMap, metadata, data))
}

func TestAManagerOwnsWhatItHasChanged(t *testing.T) {
	t.Parallel()
	m := of(configMaps, "", nil, nil)
	first := configMapWith(t, "", `{"a":"1","b":"1"}`)
	m.Update(m.kind.empty(), first, "one")
	assert.Equal(t, map[string]string{"one Update": `{"f:data":{".":{},"f:a":{},"f:b":{}}}`}, owners(first))

	second := configMapWith(t, "", `{"a":"1","b":"2","c":"2"}`) // who does not know managed fields leaves them out
	m.Update(first, second, "two")
	assert.Equal(t, map[string]string{"one Update": `{"f:data":{".":{},"f:a":{}}}`, "two Update": `{"f:data":{"f:b":{},"f:c":{}}}`}, owners(second))

	reset := configMapWith(t, `,"managedFields":[{}]`, `{"a":"3"}`)
	m.Update(second, reset, "two")
	assert.Empty(t, reset.ManagedFields)
	assert.NotNil(t, reset.ManagedFields, "nobody is known to have made it, not even the server")
}

func TestOnlyTheFieldsThatASubresourceWritesGetAnOwner(t *testing.T) {
	t.Parallel()
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","labels":{"a":"b"}},"spec":{"hostname":"h","initContainers":[{"name":"i","image":"i","resources":{"limits":{"cpu":"1"}}}]},"status":{"phase":"Running"}}`
	for _, row := range []struct {
		reset, only Fields
		fields      string
	}{
		{Fields{"status"}, nil, `{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:hostname":{},"f:initContainers":{".":{},"k:{\"name\":\"i\"}":{".":{},"f:image":{},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{}}}}}}}`},
		{Fields{"spec", "metadata.labels"}, nil, `{"f:status":{"f:phase":{}}}`},
		{nil, Fields{"spec.initContainers.*.resources"}, `{"f:spec":{"f:initContainers":{".":{},"k:{\"name\":\"i\"}":{".":{},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{}}}}}}}`},
	} {
		m := of(pods, "part", row.reset, row.only)
		object := decoded[corev1.Pod](t, pod)
		m.Update(m.kind.empty(), object, "me")
		require.Len(t, object.ManagedFields, 1)
		assert.Equal(t, "part", object.ManagedFields[0].Subresource)
		assert.Equal(t, row.fields, object.ManagedFields[0].FieldsV1.GetRawString())
	}
}

func TestWhatV1HasNotWrittenIsItsCreators(t *testing.T) {
	t.Parallel()
	for creator, made := range map[string]struct {
		row     rest.Resource
		changed func() (live, same, other rest.Object)
	}{
		"kube2014": {pods, func() (live, same, other rest.Object) {
			pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","uid":"u","creationTimestamp":"2014-06-06T23:40:48Z"},"spec":{"hostname":"a"%s}}`
			return decoded[corev1.Pod](t, fmt.Sprintf(pod, "")), decoded[corev1.Pod](t, fmt.Sprintf(pod, "")), decoded[corev1.Pod](t, fmt.Sprintf(pod, `,"nodeName":"n"`))
		}},
		rest.Server: {configMaps, func() (live, same, other rest.Object) {
			return configMapWith(t, "", `{"a":"1"}`), configMapWith(t, "", `{"a":"1"}`), configMapWith(t, "", `{"a":"1","b":"1"}`)
		}},
	} {
		m := of(made.row, "", nil, nil)
		live, same, other := made.changed()
		m.Update(live, same, "me")
		assert.Nil(t, same.GetManagedFields(), "nothing has changed")
		_, _, changed := made.changed()
		m.Update(live, changed, creator)
		assert.Nil(t, changed.GetManagedFields(), "all is still its creator's")
		m.Update(live, other, "me")
		assert.Nil(t, live.GetManagedFields())
		require.Len(t, other.GetManagedFields(), 2)
		assert.Contains(t, owners(other), "me Update")
		assert.Contains(t, owners(other), creator+" Update")
		for _, e := range other.GetManagedFields() {
			if created := live.GetCreationTimestamp(); e.Manager == creator {
				assert.True(t, e.Time.Equal(&created) || e.Time == nil && created.IsZero())
			}
		}
		m.Complete(live)
		assert.Contains(t, owners(live), creator+" Update")
	}
}

func applied(t *testing.T, m *Manager, live rest.Object, text, manager string, force bool) (rest.Object, error) {
	configuration := &unstructured.Unstructured{}
	require.NoError(t, configuration.UnmarshalJSON([]byte(text)))
	return m.Apply(live, configuration, manager, force)
}

const applies = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":%s}`

func TestAConflictIsToldUnlessItIsForced(t *testing.T) {
	t.Parallel()
	m := of(configMaps, "", nil, nil)
	object, err := applied(t, m, m.kind.empty(), fmt.Sprintf(applies, `{"a":"1","b":"1"}`), "one", false)
	require.NoError(t, err)
	_, err = applied(t, m, object.DeepCopyObject().(rest.Object), fmt.Sprintf(applies, `{"a":"2"}`), "two", false)
	require.True(t, apierrors.IsConflict(err))
	assert.Equal(t, `Apply failed with 1 conflict: conflict with "one": .data.a`, err.Error())
	object, err = applied(t, m, object, fmt.Sprintf(applies, `{"a":"2"}`), "two", true)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"one Apply": `{"f:data":{"f:b":{}}}`, "two Apply": `{"f:data":{"f:a":{}}}`}, owners(object))
	object, err = applied(t, m, object, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`, "two", false)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"b": "1"}, object.(*corev1.ConfigMap).Data, "what a manager leaves out goes, if no other owns it")
}

func TestWhatCannotBeAppliedIsAnErrorInTheWordsOfTodaysServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"apiVersion":"v1","kind":"ConfigMap","nope":1}`:                        "failed to create typed patch object (/; /v1, Kind=ConfigMap): .nope: field not declared in schema",
		`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":1}}`:                  "failed to create typed patch object (/; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}",
		`{"apiVersion":"v1","kind":"ConfigMap","binaryData":{"a":"!"}}`:          "failed to convert new object (/; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object to /v1, Kind=ConfigMap: error decoding from json: illegal base64 data at input byte 0",
		`{"apiVersion":"v1","kind":"Pod"}`:                                       "invalid object type: /v1, Kind=Pod",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"managedFields":[]}}`: "metadata.managedFields must be nil",
	} {
		m := of(configMaps, "", nil, nil)
		_, err := applied(t, m, m.kind.empty(), text, "me", false)
		var status apierrors.APIStatus
		require.ErrorAs(t, err, &status, text)
		assert.Equal(t, want, status.Status().Message)
	}
}

// An owner by another version of a kind keeps its fields, under their names there.
func TestManagersOfAllVersionsOfAKindAreTracked(t *testing.T) {
	t.Parallel()
	row := rest.InNamespaces(autoscalingv1.SchemeGroupVersion, "HorizontalPodAutoscaler", "horizontalpodautoscalers", printers.Printer{})
	m1 := of(row, "", Fields{"status"}, nil)
	row.GroupVersion, row.Kind = autoscalingv2.SchemeGroupVersion, autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	m2 := of(row, "", Fields{"status"}, nil)
	const spec = `"metadata":{"name":"x","uid":"u"},"spec":{"maxReplicas":%d,"scaleTargetRef":{"kind":"K","name":"n"}%s}`
	of1 := func(most int) *autoscalingv1.HorizontalPodAutoscaler {
		return decoded[autoscalingv1.HorizontalPodAutoscaler](t, fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler",`+spec+`}`, most, `,"targetCPUUtilizationPercentage":50`))
	}
	of2 := decoded[autoscalingv2.HorizontalPodAutoscaler](t, fmt.Sprintf(`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",`+spec+`}`, 3,
		`,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]`))
	m2.Update(m2.kind.empty(), of2, "two")
	live, next := of1(3), of1(4)
	live.ManagedFields, next.ManagedFields = of2.ManagedFields, of2.ManagedFields
	m1.Update(live, next, "one")
	assert.Equal(t, map[string]string{"one Update": `{"f:spec":{"f:maxReplicas":{}}}`, "two Update": `{"f:spec":{"f:metrics":{},"f:scaleTargetRef":{"f:kind":{},"f:name":{}}}}`}, owners(next))
	of2.Spec.Metrics = nil
	next = of1(3)
	next.ManagedFields = of2.ManagedFields
	m1.Update(of1(3), next, "one")
	assert.Contains(t, owners(next), "two Update")
}

func TestManagedFieldsHaveABound(t *testing.T) {
	t.Parallel()
	m := of(configMaps, "", nil, nil)
	object := configMapWith(t, "", `{"a":"1"}`)
	m.Update(m.kind.empty(), object, "0")
	for i := range 20 {
		next := object.DeepCopy()
		next.Data[fmt.Sprint("k", i)] = "v"
		m.Update(object, next, fmt.Sprint("m", i))
		object = next
	}
	assert.Len(t, object.ManagedFields, 10)
	assert.Contains(t, owners(object), "ancient-changes Update")

	large := configMapWith(t, "", "{}")
	large.Data = map[string]string{}
	for i := range 9000 {
		large.Data[fmt.Sprint(strings.Repeat("k", 120), i)] = "v"
	}
	m.Update(object, large, "me")
	assert.Empty(t, large.ManagedFields)
	text, err := json.Marshal(large.Data)
	require.NoError(t, err)
	_, err = applied(t, m, m.kind.empty(), fmt.Sprintf(applies, text), "me", true)
	assert.True(t, apierrors.IsRequestEntityTooLargeError(err))

	crowd := configMapWith(t, "", "{}")
	for i := range MaxEntries + 1 {
		crowd.ManagedFields = append(crowd.ManagedFields, metav1.ManagedFieldsEntry{Manager: fmt.Sprint("m", i), Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: "v1", FieldsType: fieldsV1, FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`)})
	}
	require.Error(t, Check(crowd.ManagedFields))
	assert.Equal(t, "metadata.managedFields: Too many: 1001: must have at most 1000 items", m.Update(object, crowd.DeepCopy(), "me").Error())
	crowd.ManagedFields = crowd.ManagedFields[1:]
	require.NoError(t, Check(crowd.ManagedFields))
	assert.Nil(t, m.Update(object, crowd.DeepCopy(), "m1"))
	_, err = applied(t, m, crowd, fmt.Sprintf(applies, "{}"), "one more", true)
	assert.True(t, apierrors.IsRequestEntityTooLargeError(err))
}

func TestManagedFieldsThatCannotBeReadAreErrors(t *testing.T) {
	t.Parallel()
	entry := func(fields, kind string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: kind, FieldsV1: metav1.NewFieldsV1(fields)}}
	}
	assert.NoError(t, Check(entry(`{"f:a":{}}`, fieldsV1)))
	for _, wrong := range [][]metav1.ManagedFieldsEntry{entry(`{}}`, fieldsV1), entry(`{"k:{":{}}`, fieldsV1), entry(`{}`, "FieldsV2"), {{Manager: "m"}}} {
		assert.Error(t, Check(wrong), "%v", wrong)
	}
}

const fieldsV1 = "FieldsV1"

// The shorter way of a manager that owns all fields has the result of the longer one.
func TestAManagerRenewsWhatIsItsOwn(t *testing.T) {
	t.Parallel()
	m := of(configMaps, "", nil, nil)
	first := configMapWith(t, "", `{"a":"1","b":"1"}`)
	m.Update(m.kind.empty(), first, "one")
	long := first.ManagedFields[0].Time.Add(-time.Hour)
	first.ManagedFields[0].Time = &metav1.Time{Time: long}
	for data, short := range map[string]bool{`{"a":"2","b":"1"}`: true, `{"a":"2"}`: false, `{"a":"1","b":"1","c":"1"}`: false} {
		for _, manager := range []string{"one", "two"} {
			next := configMapWith(t, "", data)
			entries, ok := m.renewed(first, next, manager)
			require.Equal(t, short && manager == "one", ok, "%s by %s", data, manager)
			if ok {
				whole := next.DeepCopy()
				_, err := m.tracker().Update(first, whole, manager)
				require.NoError(t, err)
				assert.True(t, Same(whole.ManagedFields, entries))
				assert.True(t, entries[0].Time.After(long))
			}
		}
	}
	reset := configMapWith(t, "", `{"a":"2","b":"1"}`)
	reset.ManagedFields = []metav1.ManagedFieldsEntry{}
	_, ok := m.renewed(first, reset, "one")
	assert.False(t, ok, "who sends none resets them")
	shared := first.DeepCopy()
	shared.ManagedFields = append(shared.ManagedFields, metav1.ManagedFieldsEntry{Manager: "two"})
	_, ok = m.renewed(shared, configMapWith(t, "", `{"a":"2","b":"1"}`), "one")
	assert.False(t, ok, "another manager may own some too")
}
