package controller

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// victims chooses pods to be deleted, in today's order: those first that would be missed least.
func victims(pods []*corev1.Pod, number int) []*corev1.Pod {
	onNode := map[string]int{}
	for _, pod := range pods {
		onNode[pod.Spec.NodeName]++
	}
	sorted := slices.Clone(pods)
	slices.SortFunc(sorted, func(a, b *corev1.Pod) int {
		return cmp.Or(
			first(a.Spec.NodeName == "", b.Spec.NodeName == ""),
			cmp.Compare(phaseRank(a), phaseRank(b)),
			first(!isReady(a), !isReady(b)),
			cmp.Compare(deletionCost(a), deletionCost(b)),
			cmp.Compare(onNode[b.Spec.NodeName], onNode[a.Spec.NodeName]),
			compareYounger(readySince(a), readySince(b)),
			cmp.Compare(restarts(b), restarts(a)),
			compareYounger(a.CreationTimestamp.Time, b.CreationTimestamp.Time),
			cmp.Compare(len(b.Name), len(a.Name)), // then the highest numbers, so that there is one order
			cmp.Compare(b.Name, a.Name),
		)
	})
	return sorted[:number]
}

// first compares two pods, one of which may have what lets it come first.
func first(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// compareYounger lets the later time come first; one that is not known is the latest.
func compareYounger(a, b time.Time) int {
	return cmp.Or(first(a.IsZero(), b.IsZero()), b.Compare(a))
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

// deletionCost returns what people say of a pod: those of lower cost are to go first.
func deletionCost(pod *corev1.Pod) int64 {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil { // as without
		return 0
	}
	return cost
}

// restarts returns how often the container of a pod was started again that was most often.
func restarts(pod *corev1.Pod) int32 {
	var most int32
	for _, status := range pod.Status.ContainerStatuses {
		most = max(most, status.RestartCount)
	}
	return most
}

// readyCondition returns the condition that a pod is ready, or nil.
func readyCondition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady {
			return condition
		}
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	condition := readyCondition(pod)
	return condition != nil && condition.Status == corev1.ConditionTrue
}

// readySince returns since when a pod is ready. It is zero if it is not, or if nobody knows.
func readySince(pod *corev1.Pod) time.Time {
	if !isReady(pod) {
		return time.Time{}
	}
	return readyCondition(pod).LastTransitionTime.Time
}

// availableIn returns after how long a pod is available, that is ready for so many seconds. It is
// 0 if it is that now, and endless if it is not ready.
func availableIn(pod *corev1.Pod, minReadySeconds int32, now time.Time) time.Duration {
	switch {
	case !isReady(pod):
		return math.MaxInt64
	case minReadySeconds <= 0:
		return 0
	}
	return max(0, readySince(pod).Add(time.Duration(minReadySeconds)*time.Second).Sub(now))
}
