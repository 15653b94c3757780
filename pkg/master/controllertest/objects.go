package controllertest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
)

// Create creates an object. Like the functions below, it ends the test if that fails.
func Create[T clientv1.Object](t testing.TB, resource clientv1.Resource[T], object T) T {
	t.Helper()
	created, err := resource.Create(t.Context(), object)
	require.NoError(t, err)
	return created
}

// Get returns the object of a name.
func Get[T clientv1.Object](t testing.TB, resource clientv1.Resource[T], name string) T {
	t.Helper()
	object, err := resource.Get(t.Context(), name)
	require.NoError(t, err)
	return object
}

// List returns all objects.
func List[T clientv1.Object](t testing.TB, resource clientv1.Resource[T]) []T {
	t.Helper()
	list, err := resource.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

// Change changes the object of a name.
func Change[T clientv1.Object](t testing.TB, resource clientv1.Resource[T], name string, changes ...func(T)) {
	t.Helper()
	_, err := resource.Change(t.Context(), name, func(object T) error {
		for _, change := range changes {
			change(object)
		}
		return nil
	})
	require.NoError(t, err)
}

// Delete deletes the object of a name.
func Delete[T clientv1.Object](t testing.TB, resource clientv1.Resource[T], name string) {
	t.Helper()
	require.NoError(t, resource.Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// Names returns the names of objects, sorted; nil for none.
func Names[T metav1.Object](objects []T) (names []string) {
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	slices.Sort(names)
	return names
}

// Pods returns all pods of the namespace default.
func (b *Bench) Pods() []*corev1.Pod { return List(b.T, b.API.Pods().Resource) }

// PodNames returns their names, sorted.
func (b *Bench) PodNames() []string { return Names(b.Pods()) }

// Pod returns the pod of a name.
func (b *Bench) Pod(name string) *corev1.Pod { return Get(b.T, b.API.Pods().Resource, name) }

// CreatePod creates a pod, and gives it the status that it has.
func (b *Bench) CreatePod(pod *corev1.Pod) {
	b.T.Helper()
	made := Create(b.T, b.API.Pods().Resource, pod)
	made.Status = pod.Status
	_, err := b.API.Pods().UpdateStatus(b.T.Context(), made)
	require.NoError(b.T, err)
}

// DeletePod deletes the pod of a name.
func (b *Bench) DeletePod(name string) { Delete(b.T, b.API.Pods().Resource, name) }

// SetStatus changes the status of a pod, as its kubelet would.
func (b *Bench) SetStatus(name string, set func(status *corev1.PodStatus)) {
	b.T.Helper()
	pod := b.Pod(name)
	set(&pod.Status)
	_, err := b.API.Pods().UpdateStatus(b.T.Context(), pod)
	require.NoError(b.T, err)
}

// Ready makes a status that of a pod that runs, and is ready.
func Ready(status *corev1.PodStatus) {
	status.Phase = corev1.PodRunning
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
}
