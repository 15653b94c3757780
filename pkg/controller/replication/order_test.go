package replication

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/util/pods"
)

var noonOfReplication = time.Date(2014, 6, 10, 12, 0, 0, 0, time.UTC)

// podToLose is a pod that runs, on a node, for an hour, and is not ready unless that is set.
func podToLose(name string, change func(pod *corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noonOfReplication.Add(-time.Hour))},
		Spec:       corev1.PodSpec{NodeName: "n"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	change(pod)
	return pod
}

func readyFor(while time.Duration) func(pod *corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(noonOfReplication.Add(-while))}}
	}
}

func TestThePodsThatAreMissedLeastAreDeletedFirst(t *testing.T) {
	t.Parallel()
	inOrder := []*corev1.Pod{
		podToLose("unassigned", func(pod *corev1.Pod) {
			readyFor(time.Hour)(pod)
			pod.Spec.NodeName = ""
		}),
		podToLose("pending", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending }),
		podToLose("unknown", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodUnknown }),
		podToLose("restarted", func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}, {RestartCount: 5}, {RestartCount: 2}}
		}),
		podToLose("young", func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(noonOfReplication) }),
		podToLose("not ready 1", func(*corev1.Pod) {}),
		podToLose("not ready 2", func(*corev1.Pod) {}),
		podToLose("ready for a minute", readyFor(time.Minute)),
		podToLose("ready for an hour", readyFor(time.Hour)),
	}
	random := rand.New(rand.NewPCG(1, 1))
	for count := range inOrder {
		active := append([]*corev1.Pod{}, inOrder...)
		random.Shuffle(len(active), func(i, j int) { active[i], active[j] = active[j], active[i] })
		assert.Equal(t, inOrder[:count], victims(active, count))
	}
}

func TestAPodThatDoesNotSaySinceWhenItIsReadyIsAvailableOnlyWithoutADelay(t *testing.T) {
	t.Parallel()
	pods := []*corev1.Pod{
		podToLose("a", func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}),
		podToLose("b", readyFor(20*time.Second)),
		podToLose("c", readyFor(25*time.Second)),
		podToLose("d", readyFor(30*time.Second)),
	}
	rc := &corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Template: &corev1.PodTemplateSpec{}}}
	status, next := replicationStatus(rc, pods, noonOfReplication)
	assert.Equal(t, int32(4), status.AvailableReplicas)
	assert.Zero(t, next)
	rc.Spec.MinReadySeconds = 30
	status, next = replicationStatus(rc, pods, noonOfReplication)
	assert.Equal(t, int32(4), status.ReadyReplicas)
	assert.Equal(t, int32(1), status.AvailableReplicas)
	assert.Equal(t, 5*time.Second, next)
}

func TestTheNamesOfPodsStayValid(t *testing.T) {
	t.Parallel()
	long := "a123456789b123456789c123456789d123456789e123456789f12345.-"
	for name, want := range map[string]string{
		"web":          "web-",
		"web.v2":       "web.v2-",
		long[:56]:      long[:56] + "-",
		long[:57]:      long[:57] + "-",
		long + "x.y":   long[:56] + "-",
		long + "-more": long[:56] + "-",
	} {
		assert.Equal(t, want, podPrefix(&corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: name}}), name)
	}
}

func TestAControllerWithoutASelectorSelectsNothing(t *testing.T) {
	t.Parallel()
	assert.False(t, pods.Selects(nil, map[string]string{"a": "b"}))
}
