package v1

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/jsoncheck"
)

func TestARemainderIsAMessageOfWhichJSONIsMade(t *testing.T) {
	t.Parallel()
	task, err := inPod(corev1.Pod{Spec: corev1.PodSpec{Hostname: "<web>"}})
	require.NoError(t, err)
	_, ok := task.Remainder.Message()
	require.True(t, ok)
	fromJSON := api.MakeRemainder(task.Remainder.Text())
	assert.JSONEq(t, `{"metadata":{},"spec":{"hostname":"<web>","containers":null},"status":{}}`, string(fromJSON))
	assert.True(t, task.Remainder.Same(fromJSON), "etcd has it so")
	assert.False(t, task.Remainder.Same(""))
	for _, remainder := range []api.Remainder{task.Remainder, fromJSON} {
		task.Remainder = remainder
		pod, err := outPod(task)
		require.NoError(t, err)
		assert.Equal(t, "<web>", pod.Spec.Hostname)
	}
	none, err := inPod(corev1.Pod{})
	require.NoError(t, err)
	assert.Empty(t, none.Remainder)
}

// A client that sends protobuf may send such values. As JSON of the remainder could not be made, they are refused.
func TestWhatJSONCannotSayIsNoMessage(t *testing.T) {
	t.Parallel()
	probe := func(port intstr.IntOrString) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}}}}}}
	}
	managed := func(fields string) *corev1.PodTemplate {
		return &corev1.PodTemplate{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(fields)}}}}}
	}
	type revision struct {
		metav1.TypeMeta
		Data map[string]runtime.RawExtension `protobuf:"1"`
	}
	for name, row := range map[string]struct {
		of any
		ok bool
	}{
		"a number":                       {probe(intstr.FromInt32(80)), true},
		"a name":                         {probe(intstr.FromString("http")), true},
		"neither":                        {probe(intstr.IntOrString{Type: 7}), false},
		"managed fields":                 {managed(`{}`), true},
		"broken ones":                    {managed(`{`), false},
		"JSON in a map":                  {&revision{Data: map[string]runtime.RawExtension{"a": {Raw: []byte("1")}}}, true},
		"broken JSON in a map":           {&revision{Data: map[string]runtime.RawExtension{"a": {Raw: []byte("{")}}}, false},
		"an object that is not JSON yet": {&revision{Data: map[string]runtime.RawExtension{"a": {Object: &corev1.Pod{}}}}, false},
	} {
		check, ok := jsoncheck.Of(reflect.TypeOf(row.of))
		require.True(t, ok, name)
		assert.Equal(t, row.ok, check(reflect.ValueOf(row.of)), name)
	}
	_, err := inPod(*probe(intstr.IntOrString{Type: 7}))
	assert.Error(t, err)
	for _, unknown := range []any{new(float64), new(any), &metav1.LabelSelectorRequirement{}, &struct{ Kind string }{}, &appsv1.StatefulSet{}} {
		_, ok := jsoncheck.Of(reflect.TypeOf(unknown))
		assert.Equal(t, reflect.TypeOf(unknown) == reflect.TypeFor[*metav1.LabelSelectorRequirement](), ok)
	}
}

// A kind whose rest is no message takes twice the memory.
func TestTheKindsThatAreManyHaveMessages(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Pod", "Node", "Service", "Endpoints", "Event", "ConfigMap", "Secret", "Namespace"} {
		assert.True(t, restTypeOf(reflect.TypeOf(codecOf(kind).New())).isMessage, kind)
	}
}
