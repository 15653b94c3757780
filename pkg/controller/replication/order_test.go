package replication

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
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
	always := corev1.ContainerRestartPolicyAlways
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
		podToLose("cheap", func(pod *corev1.Pod) {
			readyFor(time.Hour)(pod)
			pod.Annotations = map[string]string{corev1.PodDeletionCost: "-5"}
		}),
		podToLose("on a crowded node", func(pod *corev1.Pod) {
			readyFor(time.Hour)(pod)
			pod.Spec.NodeName = "crowded"
		}),
		podToLose("ready since some time", func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}),
		podToLose("ready for a minute", readyFor(time.Minute)),
		podToLose("ready for an hour, with a sidecar that restarted", func(pod *corev1.Pod) {
			readyFor(time.Hour)(pod)
			pod.UID = "3"
			pod.Spec.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: &always}, {Name: "init"}}
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "side", RestartCount: 1}}
		}),
		podToLose("ready for an hour", func(pod *corev1.Pod) {
			readyFor(time.Hour)(pod)
			pod.UID = "1"
			pod.Spec.InitContainers = []corev1.Container{{Name: "init"}}
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 9}}
			pod.Annotations = map[string]string{corev1.PodDeletionCost: "cheap"}
		}),
		podToLose("ready for little less", func(pod *corev1.Pod) { // which is no reason to delete it first
			readyFor(59 * time.Minute)(pod)
			pod.UID = "2"
		}),
		podToLose("expensive", func(pod *corev1.Pod) {
			readyFor(time.Minute)(pod)
			pod.Annotations = map[string]string{corev1.PodDeletionCost: "5"}
		}),
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		active := append([]*corev1.Pod{}, inOrder...)
		random.Shuffle(len(active), func(i, j int) { active[i], active[j] = active[j], active[i] })
		slices.SortFunc(active, loss{map[string]int{"n": 1, "crowded": 2}, noonOfReplication}.compare)
		assert.Equal(t, inOrder, active)
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
	s := &set{Object: &corev1.ReplicationController{}, template: &corev1.PodTemplateSpec{}}
	status, next := statusOf(s, pods, noonOfReplication)
	assert.Equal(t, int32(4), status.AvailableReplicas)
	assert.Zero(t, next)
	s.minReady = 30 * time.Second
	status, next = statusOf(s, pods, noonOfReplication)
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
		assert.Equal(t, want, controller.PodPrefix(name, "-"), name)
	}
}

func TestAControllerWithoutASelectorSelectsNothing(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	shared := informers.New(clientv1.New(""), 0)
	sets := []*set{replicationControllers(nil, shared).(adapterOf[*corev1.ReplicationController]).view(&corev1.ReplicationController{})}
	for _, selector := range []*metav1.LabelSelector{nil, {}, {MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Resembles"}}}} {
		rs := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: selector}}
		sets = append(sets, replicaSets(nil, shared).(adapterOf[*appsv1.ReplicaSet]).view(rs))
	}
	for _, s := range sets {
		assert.False(t, s.selects(pod))
		assert.True(t, s.selector.Empty(), "nothing is done for it")
	}
}
