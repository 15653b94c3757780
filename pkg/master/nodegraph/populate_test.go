package nodegraph

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/auth/authorizer/node"
	"kube2014/pkg/storage"
)

func TestWhatIsReadAgainTakesAccessThatEndedMeanwhile(t *testing.T) {
	t.Parallel()
	converter := v1.NewConverter(corev1.SchemeGroupVersion.WithKind("Pod"), api.TaskKind, v1.Scheme)
	stored := func(name, machine string, ephemeral ...corev1.EphemeralContainer) *storage.Object {
		object, err := converter.ToInternal(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name},
			Spec: corev1.PodSpec{NodeName: machine, ServiceAccountName: name, EphemeralContainers: ephemeral}})
		require.NoError(t, err)
		return storage.NewObject(object, 1, 1)
	}
	graph := node.NewGraph(func(string, string) string { return "" })
	apply := apply(graph, node.Pod, converter, node.OfPod)
	reached := func() (names []string) {
		for _, object := range []node.Object{{Kind: node.Account, Name: "p"}, {Kind: node.Account, Name: "q"}, {Kind: node.Secret, Name: "s"}, {Kind: node.ConfigMap, Name: "c"}} {
			if object.Namespace = "a"; graph.Reaches(object, "m") {
				names = append(names, object.Name)
			}
		}
		return names
	}
	debug := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", EnvFrom: []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}},
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}}}}
	p, q, bare, debugged := stored("p", "m"), stored("q", "m"), stored("p", ""), stored("q", "m", debug)

	apply([]storage.Event{{After: bare}, {After: q}}, 1, true)
	assert.Equal(t, []string{"q"}, reached(), "a pod without a machine gives nobody access")
	apply([]storage.Event{{Before: bare, After: p}}, 2, false)
	assert.Equal(t, []string{"p", "q"}, reached())
	apply([]storage.Event{{Before: q, After: debugged}}, 3, false)
	assert.Equal(t, []string{"p", "q", "s", "c"}, reached(), "what is added later counts")
	apply([]storage.Event{{Before: p}}, 4, false)
	assert.Equal(t, []string{"q", "s", "c"}, reached())
	apply([]storage.Event{{After: p}}, 9, true)
	assert.Equal(t, []string{"p"}, reached())
	apply([]storage.Event{{Before: p, After: storage.NewObject(&api.Task{JSONBase: api.JSONBase{ID: "p"}, CurrentState: api.TaskState{Host: "m"}, ObjectMeta: api.ObjectMeta{Namespace: "a", Remainder: "{"}}, 10, 1)}}, 10, false)
	assert.Empty(t, reached(), "an unreadable pod gives nobody access")
}
