package replication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/controller/replication"
	"kube2014/pkg/master/controllertest"
)

// replicationBench is a server with a replication manager, and what that says.
type replicationBench struct {
	*controllertest.Bench
	// beginning is the version that the server begins with.
	beginning string
}

func withReplicationBench(t *testing.T, test func(t *testing.T, b *replicationBench)) {
	t.Helper()
	controllertest.InBubble(t, func(t *testing.T, shared *controllertest.Bench) {
		list, err := shared.API.Pods().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		test(t, &replicationBench{shared, list.ResourceVersion})
	})
}

// run runs a new manager. What it returns ends it, and waits for that.
func (b *replicationBench) run() (stop func()) {
	return controllertest.Run(b.Bench, 0, replication.NewReplicationManager)
}

func replicationController(name string, replicas int32) *corev1.ReplicationController {
	labels := map[string]string{"app": name}
	return &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: labels, Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name, "tier": "front"}, Annotations: map[string]string{"note": "kept"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}},
	}
}

func (b *replicationBench) create(name string, replicas int32) *corev1.ReplicationController {
	return controllertest.Create(b.T, b.API.ReplicationControllers().Resource, replicationController(name, replicas))
}

func (b *replicationBench) get(name string) *corev1.ReplicationController {
	return controllertest.Get(b.T, b.API.ReplicationControllers().Resource, name)
}

func (b *replicationBench) scale(name string, replicas int32) {
	controllertest.Change(b.T, b.API.ReplicationControllers().Resource, name, func(rc *corev1.ReplicationController) { rc.Spec.Replicas = &replicas })
}

func replicationPod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

func (b *replicationBench) createPod(name string, labels map[string]string) {
	controllertest.Create(b.T, b.API.Pods().Resource, replicationPod(name, labels))
}

func (b *replicationBench) changePod(name string, change func(pod *corev1.Pod)) {
	controllertest.Change(b.T, b.API.Pods().Resource, name, change)
}

func (b *replicationBench) relabel(name string, labels map[string]string) {
	b.changePod(name, func(pod *corev1.Pod) { pod.Labels = labels })
}

func TestAReplicationControllerGetsItsPodsByCountedNames(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		rc := b.create("web", 3)
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.PodNames())
		assert.Equal(t, []string{"web Normal SuccessfulCreate: Created pod: web-1", "web Normal SuccessfulCreate: Created pod: web-2",
			"web Normal SuccessfulCreate: Created pod: web-3"}, b.TakeEvents())
		pod := b.Pods()[0]
		assert.Equal(t, map[string]string{"app": "web", "tier": "front"}, pod.Labels)
		assert.Equal(t, map[string]string{"note": "kept"}, pod.Annotations)
		assert.Equal(t, "i", pod.Spec.Containers[0].Image)
		yes := true
		assert.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "ReplicationController", Name: "web", UID: rc.UID,
			Controller: &yes, BlockOwnerDeletion: &yes}}, pod.OwnerReferences)
	})
}

func TestAReplicationControllerIsScaledUpAndDown(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.Settle(time.Second)
		b.scale("web", 5)
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, b.PodNames())
		b.SetStatus("web-4", controllertest.Ready)
		b.Settle(time.Second)
		b.TakeEvents()
		b.scale("web", 1)
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-4"}, b.PodNames(), "what is ready stays")
		assert.ElementsMatch(t, []string{"web Normal SuccessfulDelete: Deleted pod: web-1", "web Normal SuccessfulDelete: Deleted pod: web-2",
			"web Normal SuccessfulDelete: Deleted pod: web-3", "web Normal SuccessfulDelete: Deleted pod: web-5"}, b.TakeEvents())
		b.scale("web", 2)
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-4"}, b.PodNames())
		b.scale("web", 0)
		b.Settle(time.Second)
		assert.Empty(t, b.PodNames())
	})
}

func TestAPodThatIsDeletedOrHasEndedIsReplaced(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 3)
		b.Settle(time.Second)
		b.DeletePod("web-2")
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.PodNames())
		b.SetStatus("web-1", func(status *corev1.PodStatus) { status.Phase = corev1.PodFailed })
		b.SetStatus("web-3", func(status *corev1.PodStatus) { status.Phase = corev1.PodSucceeded })
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, b.PodNames())
		assert.Equal(t, int32(3), b.get("web").Status.Replicas)
	})
}

func TestAPodThatIsBeingDeletedIsReplacedUnderAnotherName(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.Settle(time.Second)
		pod, err := b.API.Pods().Change(t.Context(), "web-1", func(pod *corev1.Pod) error {
			pod.Finalizers = []string{"example.com/wait"}
			return nil
		})
		require.NoError(t, err)
		b.DeletePod("web-1")
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.PodNames())
		_, err = b.API.Pods().Change(t.Context(), pod.Name, func(pod *corev1.Pod) error {
			pod.Finalizers = nil
			return nil
		})
		require.NoError(t, err)
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-2", "web-3"}, b.PodNames())
	})
}
