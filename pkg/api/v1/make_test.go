package v1

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1beta1"
)

// object is an object of this version.
type object interface {
	runtime.Object
	metav1.Object
}

// makeV1 returns an object of a kind as it is accepted: complete, and without what only
// the store sets.
func makeV1(t testing.TB, kind string, seed int64) object {
	v1 := codecOf(kind).New().(object)
	newFiller(seed).Fill(v1)
	v1.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	v1.SetNamespace(Namespace)
	v1.SetUID("uid")
	v1.SetResourceVersion("")
	v1.SetSelfLink("")
	v1.SetManagedFields(nil)
	switch v1 := v1.(type) {
	case *corev1.Node, *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding:
		v1.SetNamespace("")
	case *corev1.ReplicationController:
		if v1.Spec.Template == nil {
			v1.Spec.Template = &corev1.PodTemplateSpec{}
		}
	}
	complete(v1)
	v1 = received(t, v1) // neither JSON nor protobuf tells an empty map from none: then there is more to complete
	complete(v1)
	return v1
}

// received returns an object as it is after it was sent in JSON and in protobuf.
func received(t testing.TB, sent object) object {
	codec := codecOf(reflect.TypeOf(sent).Elem().Name())
	fromJSON, fromMessage := codec.New(), codec.New()
	require.NoError(t, json.Unmarshal([]byte(encode(t, sent)), fromJSON))
	message, err := EncodeMessage(fromJSON)
	require.NoError(t, err)
	require.NoError(t, fromMessage.(restMessage).Unmarshal(message))
	return fromMessage.(object)
}

// complete sets defaults, as the second door does.
func complete(v1 object) {
	Scheme.Default(v1)
	if pod, ok := v1.(*corev1.Pod); ok && pod.Status.QOSClass == "" {
		pod.Status.QOSClass = defaults.QOSClass(pod)
	}
}

// makeV1beta1 returns an internal object as the first door stores it.
func makeV1beta1(t testing.TB, kind string, seed int64) api.Object {
	wire := map[string]interface{}{"Task": &v1beta1.Task{}, "ReplicationController": &v1beta1.ReplicationController{}, "Service": &v1beta1.Service{},
		"Endpoints": &v1beta1.Endpoints{}}[kind]
	newFiller(seed).Fill(wire)
	return inV1beta1(t, wire)
}

// both knows both versions.
var both = func() *conversion.Scheme {
	scheme := conversion.NewScheme()
	v1beta1.AddToScheme(scheme)
	AddConversions(scheme)
	return scheme
}()

// storedAs are the kinds of this version, and what they are stored as.
var storedAs = map[string]api.Kind{"Pod": api.TaskKind, "ReplicationController": api.ControllerKind, "Service": api.ServiceKind, "Endpoints": api.EndpointsKind,
	"Node": api.NodeKind, "Event": "events", "Role": "roles", "RoleBinding": "rolebindings", "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
	"HorizontalPodAutoscaler": "horizontalpodautoscalers"}

// codecOf returns the codec of a kind.
func codecOf(kind string) *Codec {
	group := corev1.SchemeGroupVersion
	if strings.Contains(kind, "Role") {
		group = rbacv1.SchemeGroupVersion
	}
	if kind == "HorizontalPodAutoscaler" {
		group = autoscalingv2.SchemeGroupVersion
	}
	return NewCodec(group.WithKind(kind), storedAs[kind], Scheme)
}

// codecFor returns the codec of a stored object.
func codecFor(stored api.Object) *Codec {
	for kind, word := range storedAs {
		if word == stored.Key().Kind {
			return codecOf(kind)
		}
	}
	panic("there is no such kind")
}

// inV1beta1 returns the internal object that the first door makes of the JSON of an
// object.
func inV1beta1(t testing.TB, wire interface{}) api.Object {
	internal, err := both.ConvertToVersion(wire, conversion.Internal)
	require.NoError(t, err)
	require.NoError(t, v1beta1.Codec.Unmarshal([]byte(encode(t, wire)), internal))
	return internal.(api.Object)
}

// in returns the internal object of one of this version.
func in(t testing.TB, v1 object) api.Object {
	internal, err := codecOf(reflect.TypeOf(v1).Elem().Name()).ToInternal(v1)
	require.NoError(t, err)
	return internal
}

// out returns an internal object in this version.
func out(t testing.TB, internal api.Object) object {
	v1, err := codecFor(internal).ToVersioned(internal)
	require.NoError(t, err)
	return v1.(object)
}

func encode(t testing.TB, object interface{}) string {
	text, err := json.Marshal(object)
	require.NoError(t, err)
	return string(text)
}

// requireSameJSON shows in few lines what differs.
func requireSameJSON(t testing.TB, want, got interface{}, message ...interface{}) {
	t.Helper()
	if encode(t, want) != encode(t, got) {
		indented := func(object interface{}) string {
			text, err := json.MarshalIndent(object, "", " ")
			require.NoError(t, err)
			return string(text)
		}
		require.Equal(t, indented(want), indented(got), message...)
	}
}

func encodeV1beta1(t testing.TB, internal api.Object) string {
	text, err := v1beta1.Codec.Marshal(internal)
	require.NoError(t, err)
	return string(text)
}

// putV1 returns what a stored object becomes when a client of the second door gets it,
// changes it and puts it.
func putV1(t testing.TB, stored api.Object, change func(object)) api.Object {
	v1 := received(t, out(t, stored))
	change(v1)
	complete(v1)
	next := in(t, v1)
	next.Inherit(stored)
	next.Meta().ResourceVersion, next.Meta().CreationVersion = stored.Meta().ResourceVersion, stored.Meta().CreationVersion
	return next
}

// putV1beta1 returns what a stored object becomes when a client of the first door gets
// it, changes it and puts it. What that client cannot say stays, as in the registry.
func putV1beta1(t testing.TB, stored api.Object, change func(wire interface{})) api.Object {
	wire, err := both.ConvertToVersion(stored, v1beta1.Version)
	require.NoError(t, err)
	sent := reflect.New(reflect.TypeOf(wire).Elem()).Interface()
	require.NoError(t, json.Unmarshal([]byte(encode(t, wire)), sent))
	change(sent)
	put := inV1beta1(t, sent)
	*put.Meta() = *stored.Meta()
	switch next := put.(type) {
	case *api.Task:
		before := stored.(*api.Task)
		next.CurrentState, next.IsPod, next.Held = before.CurrentState, before.IsPod, before.Held
	case *api.Service:
		next.SelectsNothing = stored.(*api.Service).SelectsNothing && len(next.Labels) == 0
	}
	return put
}
