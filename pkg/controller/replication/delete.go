package replication

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/util/pods"
)

// deletePods deletes pods of an object, one after the other, but those that the server refuses to delete.
func (m *ReplicationManager) deletePods(ctx context.Context, s *set, surplus []*corev1.Pod) error {
	_, err := controller.EachUnlessRefused(ctx, surplus, func(pod *corev1.Pod) (controller.Expectation, error) {
		if err := m.lookAhead(s); err != nil {
			return nil, err
		}
		return controller.ShowsDeleted(m.pods, pod), m.deletePod(ctx, s, pod)
	})
	return err
}

// deletePod deletes a pod. One that is gone is no error.
func (m *ReplicationManager) deletePod(ctx context.Context, s *set, pod *corev1.Pod) error {
	err := m.Client.In(pod.Namespace).Pods().Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	switch {
	case err == nil:
		m.Recorder.Eventf(s.Object, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case clientv1.IsAnswer(err):
		m.Recorder.Eventf(s.Object, corev1.EventTypeWarning, failedDelete, "Error deleting: %s", err)
		err = failure{failedDelete, err}
	}
	return err
}

// victims returns the pods of an object to delete first.
func (m *ReplicationManager) victims(s *set, active []*corev1.Pod, count int) []*corev1.Pod {
	if count < len(active) {
		slices.SortFunc(active, loss{m.crowds(s), time.Now()}.compare)
	}
	return active[:count]
}

// crowds returns how many pods there are on each node, of an object and of those that have the same controller: other
// replica sets of a deployment.
func (m *ReplicationManager) crowds(s *set) map[string]int {
	crowds := map[string]int{}
	owner := metav1.GetControllerOfNoCopy(s)
	for _, other := range m.adapter.cachedIn(s.GetNamespace()) {
		if other.GetUID() != s.GetUID() && (owner == nil || !isControlledBy(other, owner)) {
			continue
		}
		for _, pod := range m.activePods(other) {
			crowds[pod.Spec.NodeName]++
		}
	}
	return crowds
}

func isControlledBy(s *set, owner *metav1.OwnerReference) bool {
	its := metav1.GetControllerOfNoCopy(s)
	return its != nil && its.UID == owner.UID
}

// loss says which pods are missed least, as in today's controllers.
type loss struct {
	crowds map[string]int // how many related pods are on a node
	now    time.Time
}

// compare is negative if a should be deleted before b.
func (l loss) compare(a, b *corev1.Pod) int {
	return cmp.Or(
		compareTruth(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phaseRank(a), phaseRank(b)),
		compareTruth(controller.ReadyCondition(a) != nil, controller.ReadyCondition(b) != nil),
		cmp.Compare(deletionCost(a), deletionCost(b)),
		cmp.Compare(l.crowds[b.Spec.NodeName], l.crowds[a.Spec.NodeName]),
		cmp.Compare(l.ageRank(readySince(a)), l.ageRank(readySince(b))),
		cmp.Compare(mostRestarts(b.Status.ContainerStatuses), mostRestarts(a.Status.ContainerStatuses)),
		cmp.Compare(mostRestarts(sidecars(b)), mostRestarts(sidecars(a))),
		cmp.Compare(l.ageRank(a.CreationTimestamp.Time), l.ageRank(b.CreationTimestamp.Time)),
		strings.Compare(string(a.UID), string(b.UID)),
		strings.Compare(a.Name, b.Name),
	)
}

// compareTruth sorts false before true.
func compareTruth(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func phaseRank(pod *corev1.Pod) int {
	switch pod.Status.Phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	}
	return 0
}

// deletionCost returns what an annotation of a pod says; 0 if that is not a number of 32 bits.
func deletionCost(pod *corev1.Pod) int64 {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return cost
}

// ageRank is the same for ages of the same order, so that it is not always the youngest pods that are deleted: these are
// often all in the zone that was filled last.
func (l loss) ageRank(since time.Time) int {
	if since.IsZero() {
		return -2
	}
	age := l.now.Sub(since)
	if age <= 0 {
		return -1
	}
	return int(math.Log2(float64(age)))
}

// readySince returns since when a pod is ready; the zero time if it is not, or does not say.
func readySince(pod *corev1.Pod) time.Time {
	if condition := controller.ReadyCondition(pod); condition != nil {
		return condition.LastTransitionTime.Time
	}
	return time.Time{}
}

// sidecars returns the states of the init containers that run on beside the others.
func sidecars(pod *corev1.Pod) (states []corev1.ContainerStatus) {
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		for _, state := range pod.Status.InitContainerStatuses {
			if state.Name == container.Name && pods.IsSidecar(container) {
				states = append(states, state)
			}
		}
	}
	return states
}

func mostRestarts(states []corev1.ContainerStatus) (most int32) {
	for _, state := range states {
		most = max(most, state.RestartCount)
	}
	return most
}
