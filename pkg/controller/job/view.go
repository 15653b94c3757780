package job

import (
	"cmp"
	"math"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/controller"
	"kube2014/pkg/util/pods"
)

// view is a job with its pods at a time, and what follows from them.
type view struct {
	job     *batchv1.Job
	now     time.Time
	ending  *batchv1.JobCondition // by which the job ends, FailureTarget or SuccessCriteriaMet; nil: it goes on
	pods    []*corev1.Pod
	active  []*corev1.Pod
	counted []*corev1.Pod // those whose finalizers can go: the job's status has them, or they do not count

	status            batchv1.JobStatus // that the job should have
	event             event             // about the change of the status, if it has a reason
	counts            bool              // that the change depends on what was counted before
	succeeded, failed int               // as the status will say when all is counted
	completions       int               // very many if the job does not say
	completed         intervals
}

// event is what people are told.
type event struct{ kind, reason, message string }

// isTerminating reports whether a pod is being deleted, and its containers still run.
func isTerminating(pod *corev1.Pod) bool { return !controller.IsActive(pod) && !pods.HasEnded(pod) }

func hasSucceeded(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded }

// isTracked reports whether a pod has the finalizer of those that are not counted.
func isTracked(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, tracker) }

func isSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

func isIndexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// replacesOnlyFailed reports whether a pod that is being deleted is waited for.
func replacesOnlyFailed(job *batchv1.Job) bool {
	return job.Spec.PodReplacementPolicy != nil && *job.Spec.PodReplacementPolicy == batchv1.Failed
}

func newView(job *batchv1.Job, owned []*corev1.Pod, now time.Time) *view {
	v := &view{job: job, now: now, pods: owned, status: *job.Status.DeepCopy()}
	v.completions = int(*cmp.Or(job.Spec.Completions, new(int32(math.MaxInt32))))
	v.ending = condition(job, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget)
	v.status.Ready, v.status.Terminating = new(int32), new(int32)
	for _, pod := range owned {
		switch {
		case isTerminating(pod):
			*v.status.Terminating++
		case controller.IsActive(pod):
			v.active = append(v.active, pod)
			if controller.ReadyCondition(pod) != nil {
				*v.status.Ready++
			}
		}
	}
	v.status.Active = int32(len(v.active))
	v.count()
	if v.ending != nil {
		v.finish()
	} else if of, reason, message := v.judge(); of != "" {
		v.setCondition(of, corev1.ConditionTrue, reason, message)
	} else {
		v.suspendOrResume()
	}
	if v.status.StartTime == nil && (!isSuspended(job) || v.ending != nil) {
		v.status.StartTime = new(metav1.NewTime(now))
	}
	return v
}

// count moves pods without finalizers into the numbers of the next status, and puts those there that
// have ended since.
func (v *view) count() {
	tracked := map[types.UID]bool{}
	for _, pod := range v.pods {
		tracked[pod.UID] = isTracked(pod)
	}
	settle := func(total *int32, uids []types.UID) (left []types.UID) {
		left = slices.DeleteFunc(slices.Clone(uids), func(uid types.UID) bool { return !tracked[uid] })
		*total += int32(len(uids) - len(left))
		return left
	}
	before := cmp.Or(v.job.Status.UncountedTerminatedPods, &batchv1.UncountedTerminatedPods{})
	status, next := &v.status, &batchv1.UncountedTerminatedPods{}
	next.Succeeded, next.Failed = settle(&status.Succeeded, before.Succeeded), settle(&status.Failed, before.Failed)
	known := slices.Concat(next.Succeeded, next.Failed)
	completed, done := parseIntervals(status.CompletedIndexes, v.completions), []int(nil)
	for _, pod := range v.pods {
		isKnown := slices.Contains(known, pod.UID)
		switch {
		case !tracked[pod.UID], !isKnown && !v.isOver(pod):
		case isKnown, !v.isValid(pod), hasSucceeded(pod) && completed.has(indexOf(pod)):
			v.counted = append(v.counted, pod)
		case len(next.Succeeded)+len(next.Failed) >= burstPods: // later
		case hasSucceeded(pod) && isIndexed(v.job):
			done = append(done, indexOf(pod))
		case hasSucceeded(pod):
			next.Succeeded = append(next.Succeeded, pod.UID)
		case !v.hasFailed(pod): // the job has succeeded without it
			v.counted = append(v.counted, pod)
		default:
			next.Failed = append(next.Failed, pod.UID)
		}
	}
	if isIndexed(v.job) {
		v.completed = completed.with(done)
		status.CompletedIndexes, status.Succeeded = v.completed.String(), int32(v.completed.total())
	}
	v.succeeded, v.failed = int(status.Succeeded)+len(next.Succeeded), int(status.Failed)+len(next.Failed)
	status.UncountedTerminatedPods, v.counts = next, !equality.Semantic.DeepEqual(next, before)
}

// isOver reports whether a pod has ended, or ends with the job.
func (v *view) isOver(pod *corev1.Pod) bool {
	return hasSucceeded(pod) || v.hasFailed(pod) || v.ending != nil && isTerminating(pod)
}

// hasFailed reports whether a pod counts as failed. One that is being deleted may never get to say so.
func (v *view) hasFailed(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || isTerminating(pod) && (v.hasToFail() || !replacesOnlyFailed(v.job))
}

// hasToFail reports whether the job ends because it fails.
func (v *view) hasToFail() bool { return v.ending != nil && v.ending.Type == batchv1.JobFailureTarget }

// isValid reports whether a pod has an index of the job, if that has indexes.
func (v *view) isValid(pod *corev1.Pod) bool {
	index := indexOf(pod)
	return !isIndexed(v.job) || index >= 0 && index < v.completions
}

// setCondition puts a condition in the place of the one of its type.
func (v *view) setCondition(of batchv1.JobConditionType, is corev1.ConditionStatus, reason, message string) {
	at := metav1.NewTime(v.now)
	set := batchv1.JobCondition{Type: of, Status: is, Reason: reason, Message: message, LastProbeTime: at, LastTransitionTime: at}
	others := slices.DeleteFunc(v.status.Conditions, func(old batchv1.JobCondition) bool { return old.Type == of })
	v.status.Conditions = append(others, set)
}

// judge returns the condition by which the job begins to end, nothing if it goes on.
func (v *view) judge() (of batchv1.JobConditionType, reason, message string) {
	isEnough := v.job.Spec.Completions == nil && v.succeeded > 0 || v.succeeded >= v.completions
	switch {
	case v.failed > int(*v.job.Spec.BackoffLimit) || v.restartsTooMuch():
		return batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit"
	case v.untilDeadline() <= 0:
		return batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline"
	case isEnough && len(v.active) == 0:
		return batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods"
	}
	return "", "", ""
}

// restartsTooMuch reports whether the containers of pods that restart them have failed too often.
func (v *view) restartsTooMuch() bool {
	if v.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	var restarts int32
	for _, pod := range v.active {
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			restarts += status.RestartCount
		}
	}
	return restarts >= max(*v.job.Spec.BackoffLimit, 1)
}

// untilDeadline returns the time until the job fails, forever if nothing says so.
func (v *view) untilDeadline() time.Duration {
	seconds, start := v.job.Spec.ActiveDeadlineSeconds, v.job.Status.StartTime
	if seconds == nil || start == nil || isSuspended(v.job) || v.ending != nil {
		return forever
	}
	return start.Add(time.Duration(*seconds) * time.Second).Sub(v.now)
}

// finish ends the job if nothing is left of it that runs, or is not counted.
func (v *view) finish() {
	isLeft := func(pod *corev1.Pod) bool { return isTracked(pod) || !pods.HasEnded(pod) }
	if left := v.status.UncountedTerminatedPods; len(left.Succeeded)+len(left.Failed) > 0 || slices.ContainsFunc(v.pods, isLeft) {
		return
	}
	if v.hasToFail() {
		v.setCondition(batchv1.JobFailed, corev1.ConditionTrue, v.ending.Reason, v.ending.Message)
		v.event = event{corev1.EventTypeWarning, v.ending.Reason, v.ending.Message}
		return
	}
	v.setCondition(batchv1.JobComplete, corev1.ConditionTrue, v.ending.Reason, v.ending.Message)
	v.event = event{corev1.EventTypeNormal, "Completed", "Job completed"}
	v.status.CompletionTime = new(metav1.NewTime(v.now))
}

// suspendOrResume says whether the job is suspended. Its time begins again when it is resumed.
func (v *view) suspendOrResume() {
	was := condition(v.job, batchv1.JobSuspended) != nil
	switch is := isSuspended(v.job); {
	case is && !was && len(v.active) == 0:
		v.setCondition(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended")
		v.event = event{corev1.EventTypeNormal, "Suspended", "Job suspended"}
		v.status.StartTime = nil
	case was && !is:
		v.setCondition(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed")
		v.event = event{corev1.EventTypeNormal, "Resumed", "Job resumed"}
		v.status.StartTime = nil
	}
}
