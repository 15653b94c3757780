package job

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/controller"
	"kube2014/pkg/util/pods"
)

const (
	// minBackoff is the pause after the first failure since a success. It doubles with each further one.
	minBackoff = 10 * time.Second
	maxBackoff = 10 * time.Minute

	forever time.Duration = math.MaxInt64
)

// wanted returns how many pods should be active.
func (v *view) wanted() int {
	switch {
	case v.ending != nil, isSuspended(v.job):
		return 0
	case v.job.Spec.Completions == nil && v.succeeded > 0: // the others may go on, and nothing more is needed
		return len(v.active)
	}
	return max(0, min(int(*v.job.Spec.Parallelism), v.completions-v.succeeded))
}

// surplus returns the active pods that the job does not need. Those stay that have done most, one of
// an index.
func (v *view) surplus() (surplus []*corev1.Pod) {
	kept, hasIndex := 0, map[int]bool{}
	for _, pod := range slices.SortedFunc(slices.Values(v.active), compareWork) {
		index := indexOf(pod)
		if kept >= v.wanted() || !v.isValid(pod) || isIndexed(v.job) && hasIndex[index] {
			surplus = append(surplus, pod)
			continue
		}
		hasIndex[index] = true
		kept++
	}
	return surplus[:min(len(surplus), burstPods)]
}

// compareWork is negative if a has done more than b.
func compareWork(a, b *corev1.Pod) int {
	rank := func(pod *corev1.Pod) int {
		switch {
		case controller.ReadyCondition(pod) != nil:
			return 3
		case pod.Status.Phase == corev1.PodRunning:
			return 2
		case pod.Spec.NodeName != "":
			return 1
		}
		return 0
	}
	return cmp.Or(rank(b)-rank(a), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// missing returns the indexes of the pods to create now, -1 for each of a job that has no indexes. If
// it returns none because of failures, it returns the time until the next attempt.
func (v *view) missing() (indexes []int, wait time.Duration) {
	count := v.wanted() - len(v.active)
	if replacesOnlyFailed(v.job) {
		count -= int(*v.status.Terminating)
	}
	if count = min(count, burstPods); count <= 0 {
		return nil, forever
	}
	if wait := v.backoff(); wait > 0 {
		return nil, wait
	}
	if !isIndexed(v.job) {
		return slices.Repeat([]int{-1}, count), forever
	}
	return v.pending(count), forever
}

// pending returns the first indexes that are neither done nor on the way.
func (v *view) pending(count int) (indexes []int) {
	var taken []int
	for _, pod := range v.pods {
		if indexOf(pod) >= 0 && (controller.IsActive(pod) || replacesOnlyFailed(v.job) && isTerminating(pod)) {
			taken = append(taken, indexOf(pod))
		}
	}
	next := 0
	for _, run := range append(v.completed.with(taken), interval{first: v.completions}) {
		for ; next < run.first && len(indexes) < count; next++ {
			indexes = append(indexes, next)
		}
		next = max(next, run.last+1)
	}
	return indexes
}

// backoff returns the rest of the pause after the failures since the last success. They are counted
// from the pods that are there, so that a restart changes nothing.
func (v *view) backoff() time.Duration {
	last := slices.SortedFunc(slices.Values(v.pods), func(a, b *corev1.Pod) int { return finishedAt(b).Compare(finishedAt(a)) })
	if success := slices.IndexFunc(last, hasSucceeded); success >= 0 {
		last = last[:success]
	}
	failed := slices.DeleteFunc(last, func(pod *corev1.Pod) bool { return !v.hasFailed(pod) })
	if len(failed) == 0 {
		return 0
	}
	pause := min(minBackoff<<min(len(failed)-1, 10), maxBackoff)
	return finishedAt(failed[0]).Add(pause).Sub(v.now)
}

// finishedAt returns when a pod ended, as well as that is known.
func finishedAt(pod *corev1.Pod) time.Time {
	times := []time.Time{pod.CreationTimestamp.Time}
	for _, status := range pod.Status.ContainerStatuses {
		if end := status.State.Terminated; end != nil {
			times = append(times, end.FinishedAt.Time)
		}
	}
	if ready := pods.Condition(pod.Status.Conditions, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionFalse {
		times = append(times, ready.LastTransitionTime.Time)
	}
	if grace := pod.DeletionGracePeriodSeconds; isTerminating(pod) && grace != nil {
		times = append(times, pod.DeletionTimestamp.Add(-time.Duration(*grace)*time.Second))
	}
	return slices.MaxFunc(times, time.Time.Compare)
}
