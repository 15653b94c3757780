package job

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/util/pods"
)

// view is a job with its pods at a time, and what follows from them.
type view struct {
	job    *batchv1.Job
	now    time.Time
	pods   []*corev1.Pod // all, in the order of their indexes and names
	active []*corev1.Pod
	ready  int32
	ending *batchv1.JobCondition // by which the job ends, FailureTarget or SuccessCriteriaMet; nil: it goes on

	terminating       int32
	succeeded, failed int32 // as the status will say them when all is counted
	completed         intervals
	failedIndexes     intervals
	kept              map[int]*corev1.Pod // by its index, the failed pod that the next one follows
}

// isActive reports whether a pod runs, or will.
func isActive(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !pods.HasEnded(pod) }

// isTerminating reports whether a pod is being deleted, and its containers still run.
func isTerminating(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && !pods.HasEnded(pod)
}

func isReady(pod *corev1.Pod) bool {
	ready := pods.Condition(pod.Status.Conditions, corev1.PodReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

func isSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

func isIndexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// replacesOnlyFailed reports whether a pod that is being deleted is waited for.
func replacesOnlyFailed(job *batchv1.Job) bool {
	return job.Spec.PodFailurePolicy != nil || job.Spec.PodReplacementPolicy != nil && *job.Spec.PodReplacementPolicy == batchv1.Failed
}

// hasFailed reports whether a pod counts as failed. One that is being deleted may never get to say so.
func hasFailed(job *batchv1.Job, pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed ||
		pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded && !replacesOnlyFailed(job)
}

func newView(job *batchv1.Job, owned []*corev1.Pod, now time.Time) *view {
	slices.SortFunc(owned, func(a, b *corev1.Pod) int { return cmp.Or(indexOf(a)-indexOf(b), strings.Compare(a.Name, b.Name)) })
	v := &view{job: job, now: now, pods: owned, succeeded: job.Status.Succeeded, failed: job.Status.Failed}
	uncounted := uncountedOf(job)
	v.succeeded += int32(len(uncounted.Succeeded))
	v.failed += int32(len(uncounted.Failed))
	for _, pod := range owned {
		switch {
		case isActive(pod):
			v.active = append(v.active, pod)
			if isReady(pod) {
				v.ready++
			}
		case isTerminating(pod):
			v.terminating++
		}
		if !v.isNew(pod, uncounted) {
			continue
		}
		if pod.Status.Phase == corev1.PodSucceeded {
			v.succeeded++
		} else if hasFailed(job, pod) && v.counts(pod) {
			v.failed++
		}
	}
	if isIndexed(job) {
		v.readIndexes()
	}
	v.ending = v.findEnding()
	if v.ending == nil && isIndexed(job) && job.Spec.BackoffLimitPerIndex != nil {
		v.keepFailed()
	}
	return v
}

func uncountedOf(job *batchv1.Job) batchv1.UncountedTerminatedPods {
	if job.Status.UncountedTerminatedPods == nil {
		return batchv1.UncountedTerminatedPods{}
	}
	return *job.Status.UncountedTerminatedPods
}

// isNew reports whether a pod is neither in the numbers of the status nor on the way there.
func (v *view) isNew(pod *corev1.Pod, uncounted batchv1.UncountedTerminatedPods) bool {
	return isTracked(pod) && v.isValid(pod) && !slices.Contains(uncounted.Succeeded, pod.UID) && !slices.Contains(uncounted.Failed, pod.UID)
}

// isValid reports whether a pod has an index of the job, if that has indexes.
func (v *view) isValid(pod *corev1.Pod) bool {
	index := indexOf(pod)
	return !isIndexed(v.job) || index >= 0 && index < int(*v.job.Spec.Completions)
}

// counts reports whether the failure of a pod is counted.
func (v *view) counts(pod *corev1.Pod) bool {
	action, _ := failureAction(v.job.Spec.PodFailurePolicy, pod)
	return action != batchv1.PodFailurePolicyActionIgnore
}

// readIndexes finds which indexes have succeeded, and which have failed for good.
func (v *view) readIndexes() {
	completions := int(*v.job.Spec.Completions)
	v.completed = parseIntervals(v.job.Status.CompletedIndexes, completions)
	var done, failed []int
	for _, pod := range v.pods {
		if isTracked(pod) && v.isValid(pod) && pod.Status.Phase == corev1.PodSucceeded {
			done = append(done, indexOf(pod))
		}
	}
	v.completed = v.completed.with(done)
	v.succeeded = int32(v.completed.total())
	limit := v.job.Spec.BackoffLimitPerIndex
	if limit == nil {
		return
	}
	if before := v.job.Status.FailedIndexes; before != nil {
		v.failedIndexes = parseIntervals(*before, completions)
	}
	if recordedEnding(v.job) != nil { // the others were ended with the job
		return
	}
	for _, pod := range v.pods {
		if !isTracked(pod) || !v.isValid(pod) || !hasFailed(v.job, pod) || v.completed.has(indexOf(pod)) {
			continue
		}
		action, _ := failureAction(v.job.Spec.PodFailurePolicy, pod)
		if action == batchv1.PodFailurePolicyActionFailIndex ||
			action != batchv1.PodFailurePolicyActionIgnore && failuresOf(pod, batchv1.JobIndexFailureCountAnnotation) >= int(*limit) {
			failed = append(failed, indexOf(pod))
		}
	}
	v.failedIndexes = v.failedIndexes.with(failed)
}

// keepFailed finds the failed pods that stay uncounted until the next pod of their index says how
// often that has failed.
func (v *view) keepFailed() {
	running := map[int]bool{}
	for _, pod := range v.active {
		running[indexOf(pod)] = true
	}
	v.kept = map[int]*corev1.Pod{}
	for _, pod := range v.pods {
		index := indexOf(pod)
		if !isTracked(pod) || !v.isValid(pod) || !hasFailed(v.job, pod) || running[index] || v.completed.has(index) || v.failedIndexes.has(index) {
			continue
		}
		if last := v.kept[index]; last == nil || allFailuresOf(last) <= allFailuresOf(pod) && !finishedAt(pod).Before(finishedAt(last)) {
			v.kept[index] = pod
		}
	}
}

// recordedEnding returns the condition by which a job has begun to end, nil if there is none.
func recordedEnding(job *batchv1.Job) *batchv1.JobCondition {
	if success := condition(job, batchv1.JobSuccessCriteriaMet); success != nil {
		return success
	}
	return condition(job, batchv1.JobFailureTarget)
}

// findEnding returns the condition that the job has, or that it gets now. The first one stays.
func (v *view) findEnding() *batchv1.JobCondition {
	if before := recordedEnding(v.job); before != nil {
		return before
	}
	if reason, message := v.failure(); reason != "" {
		return newCondition(batchv1.JobFailureTarget, corev1.ConditionTrue, reason, message, v.now)
	}
	if reason, message := v.success(); reason != "" {
		return newCondition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, reason, message, v.now)
	}
	return nil
}

// failure returns why the job fails, nothing if it does not.
func (v *view) failure() (reason, message string) {
	spec := &v.job.Spec
	for _, pod := range v.pods {
		if !hasFailed(v.job, pod) {
			continue
		}
		if action, message := failureAction(spec.PodFailurePolicy, pod); action == batchv1.PodFailurePolicyActionFailJob {
			return batchv1.JobReasonPodFailurePolicy, message
		}
	}
	switch {
	case v.failed > *spec.BackoffLimit || v.restartsTooMuch():
		return batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit"
	case spec.ActiveDeadlineSeconds != nil && v.job.Status.StartTime != nil && !isSuspended(v.job) && v.untilDeadline() <= 0:
		return batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline"
	case !isIndexed(v.job) || spec.BackoffLimitPerIndex == nil:
		return "", ""
	}
	failed := v.failedIndexes.total()
	switch {
	case spec.MaxFailedIndexes != nil && failed > int(*spec.MaxFailedIndexes):
		return batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes"
	case failed > 0 && failed+v.completed.total() >= int(*spec.Completions):
		return batchv1.JobReasonFailedIndexes, "Job has failed indexes"
	}
	return "", ""
}

// success returns why the job succeeds, nothing if it does not, or not yet.
func (v *view) success() (reason, message string) {
	spec := &v.job.Spec
	if isIndexed(v.job) {
		if message, met := matchSuccessPolicy(spec.SuccessPolicy, int(*spec.Completions), v.completed); met {
			return batchv1.JobReasonSuccessPolicy, message
		}
	}
	enough := spec.Completions == nil && v.succeeded > 0 || spec.Completions != nil && v.succeeded >= *spec.Completions
	if enough && len(v.active) == 0 {
		return batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods"
	}
	return "", ""
}

// restartsTooMuch reports whether the containers of pods that restart them have failed too often.
func (v *view) restartsTooMuch() bool {
	if v.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	var restarts int32
	for _, pod := range v.pods {
		if pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending {
			continue
		}
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			restarts += status.RestartCount
		}
	}
	return restarts >= max(*v.job.Spec.BackoffLimit, 1)
}

// untilDeadline returns the time until a job with a deadline that has started fails.
func (v *view) untilDeadline() time.Duration {
	deadline := v.job.Status.StartTime.Add(time.Duration(*v.job.Spec.ActiveDeadlineSeconds) * time.Second)
	return deadline.Sub(v.now)
}

func newCondition(of batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string, now time.Time) *batchv1.JobCondition {
	return &batchv1.JobCondition{Type: of, Status: status, Reason: reason, Message: message, LastProbeTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now)}
}

// isLeaving reports whether a pod needs its finalizer no more once it is counted.
func (v *view) isLeaving(pod *corev1.Pod) bool {
	switch {
	case v.job.DeletionTimestamp != nil, pod.Status.Phase == corev1.PodSucceeded:
		return true
	case v.ending != nil:
		return !isActive(pod) // those are deleted first
	}
	kept := v.kept[indexOf(pod)]
	return hasFailed(v.job, pod) && (kept == nil || kept.UID != pod.UID)
}

// finishedAt returns when a pod ended, as well as that is known.
func finishedAt(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Terminated == nil || status.State.Terminated.FinishedAt.IsZero() {
			last = time.Time{}
			break
		}
		if at := status.State.Terminated.FinishedAt.Time; at.After(last) {
			last = at
		}
	}
	ready := pods.Condition(pod.Status.Conditions, corev1.PodReady)
	switch {
	case !last.IsZero():
		return last
	case ready != nil && ready.Status == corev1.ConditionFalse && !ready.LastTransitionTime.IsZero():
		return ready.LastTransitionTime.Time
	case pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil:
		return pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
	case pod.DeletionTimestamp != nil:
		return pod.DeletionTimestamp.Time
	}
	return pod.CreationTimestamp.Time
}
