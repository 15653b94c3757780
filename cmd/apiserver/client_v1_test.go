package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clientv1 "kube2014/pkg/client/v1"
)

func labelledPod(name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tier": "front"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "nginx", Image: "nginx"}}
	return pod
}

// onTypedClients runs a test on today's servers, with a client of each that has a connection
// for each request, for as long as it takes.
func onTypedClients(t *testing.T, test func(t *testing.T, c *clientv1.Client)) {
	onTodaysServers(t, func(t *testing.T, _ bool, start func(t *testing.T) string) {
		c := clientv1.New(start(t))
		c.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		test(t, c)
	})
}

// unhurriedContext gives a slow machine the time it takes.
func unhurriedContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	t.Cleanup(cancel)
	return ctx
}

func TestAGoProgramLeadsAPodThroughItsLife(t *testing.T) {
	onTypedClients(t, func(t *testing.T, c *clientv1.Client) {
		ctx := unhurriedContext(t)
		created, err := c.Pods().Create(ctx, labelledPod("web"))
		require.NoError(t, err)
		assert.Equal(t, "default", created.Namespace)
		assert.Equal(t, corev1.RestartPolicyAlways, created.Spec.RestartPolicy, "defaults are filled in")
		_, err = c.Pods().Create(ctx, labelledPod("web"))
		assert.True(t, apierrors.IsAlreadyExists(err), err)

		_, err = c.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "127.0.0.9"}})
		require.NoError(t, err)
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Target: corev1.ObjectReference{Kind: "Node", Name: "127.0.0.9"}}
		require.NoError(t, c.Pods().Bind(ctx, binding))
		assert.True(t, apierrors.IsConflict(c.Pods().Bind(ctx, binding)), "it has a node")

		stale := created.DeepCopy()
		stale.Labels["tier"] = "back"
		_, err = c.Pods().Update(ctx, stale)
		assert.True(t, apierrors.IsConflict(err), err)
		pod, err := c.Pods().Patch(ctx, "web", types.StrategicMergePatchType, []byte(`{"metadata": {"labels": {"tier": "back"}}}`))
		require.NoError(t, err)
		pod.Status.Phase = corev1.PodRunning
		pod.Spec.Containers[0].Image = "apache"
		pod, err = c.Pods().UpdateStatus(ctx, pod)
		require.NoError(t, err)
		assert.Equal(t, corev1.PodRunning, pod.Status.Phase)

		read, err := c.Pods().Get(ctx, "web")
		require.NoError(t, err)
		assert.Equal(t, pod, read)
		assert.Equal(t, "127.0.0.9", read.Spec.NodeName)
		assert.Equal(t, "back", read.Labels["tier"])
		assert.Equal(t, "nginx", read.Spec.Containers[0].Image, "an update of the status does not change what is wanted")

		notThis := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")}
		assert.True(t, apierrors.IsConflict(c.Pods().Delete(ctx, "web", notThis)))
		require.NoError(t, c.Pods().Delete(ctx, "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		_, err = c.Pods().Get(ctx, "web")
		assert.True(t, apierrors.IsNotFound(err), err)
		assert.EqualError(t, err, `pods "web" not found`)
	})
}

func TestAGoProgramReadsAListInPages(t *testing.T) {
	onTypedClients(t, func(t *testing.T, c *clientv1.Client) {
		ctx := unhurriedContext(t)
		want := []string{"pod-0", "pod-1", "pod-2", "pod-3", "pod-4"}
		for _, name := range want {
			_, err := c.Pods().Create(ctx, labelledPod(name))
			require.NoError(t, err)
		}
		page, err := c.Pods().List(ctx, metav1.ListOptions{Limit: 2, LabelSelector: "tier=front"})
		require.NoError(t, err)
		require.Len(t, page.Items, 2)
		assert.NotEmpty(t, page.Continue)

		var names []string
		for pod, err := range c.Pods().All(ctx, metav1.ListOptions{Limit: 2, LabelSelector: "tier=front"}) {
			require.NoError(t, err)
			if names = append(names, pod.Name); len(names) == 1 { // a page is of the first one's version
				require.NoError(t, c.Pods().Delete(ctx, "pod-4", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
			}
		}
		assert.Equal(t, want, names)
		page, err = c.Pods().List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=pod-4"})
		require.NoError(t, err)
		assert.Empty(t, page.Items)
		_, err = c.Pods().List(ctx, metav1.ListOptions{FieldSelector: "spec.color=red"})
		assert.True(t, apierrors.IsBadRequest(err), err)
	})
}

func TestAGoProgramScalesAController(t *testing.T) {
	onTypedClients(t, func(t *testing.T, c *clientv1.Client) {
		ctx := unhurriedContext(t)
		controller := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		template := labelledPod("")
		controller.Spec.Template = &corev1.PodTemplateSpec{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		_, err := c.ReplicationControllers().Create(ctx, controller)
		require.NoError(t, err)
		scale, err := c.ReplicationControllers().GetScale(ctx, "web")
		require.NoError(t, err)
		assert.EqualValues(t, 1, scale.Spec.Replicas)
		stale := scale.DeepCopy()
		scale.Spec.Replicas = 3
		_, err = c.ReplicationControllers().UpdateScale(ctx, scale)
		require.NoError(t, err)
		_, err = c.ReplicationControllers().UpdateScale(ctx, stale)
		assert.True(t, apierrors.IsConflict(err), err)
		scaled, err := c.ReplicationControllers().Get(ctx, "web")
		require.NoError(t, err)
		assert.EqualValues(t, 3, *scaled.Spec.Replicas)
	})
}

// roundTrip creates an object, reads and deletes it.
func roundTrip[T clientv1.Object](ctx context.Context, t *testing.T, resource clientv1.Resource[T], object T) {
	created, err := resource.Create(ctx, object)
	require.NoError(t, err)
	read, err := resource.Get(ctx, object.GetName())
	require.NoError(t, err)
	assert.Equal(t, created, read)
	list, err := resource.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.True(t, slices.ContainsFunc(list.Items, func(listed T) bool { return listed.GetName() == object.GetName() }))
	require.NoError(t, resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{}))
	_, err = resource.Get(ctx, object.GetName())
	assert.True(t, apierrors.IsNotFound(err), err)
}

func TestAGoProgramKeepsObjectsOfTheOtherKinds(t *testing.T) {
	onTypedClients(t, func(t *testing.T, c *clientv1.Client) {
		ctx, x := unhurriedContext(t), metav1.ObjectMeta{Name: "x"}
		roundTrip(ctx, t, c.Services(), &corev1.Service{ObjectMeta: x, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
		roundTrip(ctx, t, c.Nodes(), &corev1.Node{ObjectMeta: x})
		roundTrip(ctx, t, c.Events(), &corev1.Event{ObjectMeta: x, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "web", Namespace: "default"}})
		endpoints := &corev1.Endpoints{ObjectMeta: x}
		roundTrip(ctx, t, c.Endpoints(), endpoints)
	})
}

// Each adds a label: none is lost.
func TestChangesOfManyGoProgramsAreAllMade(t *testing.T) {
	onTypedClients(t, func(t *testing.T, c *clientv1.Client) {
		ctx := unhurriedContext(t)
		_, err := c.Pods().Create(ctx, labelledPod("web"))
		require.NoError(t, err)
		const programs, changes = 4, 5
		var group sync.WaitGroup
		for program := range programs {
			group.Go(func() {
				for i := range changes {
					_, err := c.Pods().Change(ctx, "web", func(pod *corev1.Pod) error {
						pod.Labels[fmt.Sprintf("label-%d-%d", program, i)] = "here"
						return nil
					})
					assert.NoError(t, err)
				}
			})
		}
		group.Wait()
		pod, err := c.Pods().Get(ctx, "web")
		require.NoError(t, err)
		assert.Len(t, pod.Labels, 1+programs*changes)
	})
}
