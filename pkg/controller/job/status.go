package job

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
)

// updateStatus writes the status of a job, if that has changed, and waits until the cache shows it. It
// returns nil if there was nothing to write.
func (c *JobController) updateStatus(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) (written *batchv1.Job, err error) {
	if equality.Semantic.DeepEqual(status, job.Status) {
		return nil, nil
	}
	updated := job.DeepCopy()
	updated.Status = status
	written, err = c.config.Client.In(job.Namespace).Jobs().UpdateStatus(ctx, updated)
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return nil, errStale
	case err != nil:
		return nil, err
	}
	c.tell(job, written)
	return written, cache.Await(ctx, c.jobs.Shows(written))
}

// tell records the events of a change of a job's status.
func (c *JobController) tell(old, job *batchv1.Job) {
	was, is := condition(old, batchv1.JobSuspended) != nil, condition(job, batchv1.JobSuspended) != nil
	switch {
	case is && !was:
		c.config.Recorder.Eventf(job, corev1.EventTypeNormal, "Suspended", "Job suspended")
	case was && !is:
		c.config.Recorder.Eventf(job, corev1.EventTypeNormal, "Resumed", "Job resumed")
	}
	over := finished(job)
	switch {
	case over == nil:
	case over.Type == batchv1.JobFailed:
		c.config.Recorder.Eventf(job, corev1.EventTypeWarning, over.Reason, "%s", over.Message)
	default:
		if job.Spec.Completions != nil && job.Status.Succeeded > *job.Spec.Completions {
			c.config.Recorder.Eventf(job, corev1.EventTypeWarning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached")
		}
		c.config.Recorder.Eventf(job, corev1.EventTypeNormal, "Completed", "Job completed")
	}
}

// status returns the next status of the job. If the job has that already, the finalizers of the
// counted pods can go.
func (v *view) status() (status batchv1.JobStatus, counted []*corev1.Pod) {
	status = *v.job.Status.DeepCopy()
	status.Active, status.Ready, status.Terminating = int32(len(v.active)), new(v.ready), new(v.terminating)
	if status.StartTime == nil && !isSuspended(v.job) {
		status.StartTime = new(metav1.NewTime(v.now))
	}
	counted = v.count(&status)
	if isIndexed(v.job) {
		status.CompletedIndexes, status.Succeeded = v.completed.String(), int32(v.completed.total())
		if v.job.Spec.BackoffLimitPerIndex != nil {
			status.FailedIndexes = new(v.failedIndexes.String())
		}
	}
	v.end(&status)
	return status, counted
}

// count moves pods without finalizers into the numbers of a status, and records those that have ended
// since. It returns the pods that were recorded.
func (v *view) count(status *batchv1.JobStatus) (counted []*corev1.Pod) {
	tracked := map[types.UID]bool{}
	for _, pod := range v.pods {
		tracked[pod.UID] = isTracked(pod)
	}
	if status.UncountedTerminatedPods == nil {
		status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	uncounted := status.UncountedTerminatedPods
	settle := func(total *int32, recorded *[]types.UID) {
		before := len(*recorded)
		*recorded = slices.DeleteFunc(*recorded, func(uid types.UID) bool { return !tracked[uid] })
		*total += int32(before - len(*recorded))
	}
	settle(&status.Succeeded, &uncounted.Succeeded)
	settle(&status.Failed, &uncounted.Failed)
	for _, pod := range v.pods {
		if !isTracked(pod) || !v.isLeaving(pod) {
			continue
		}
		if len(counted) >= burstPods {
			break
		}
		counted = append(counted, pod)
		failing := v.ending != nil && v.ending.Type == batchv1.JobFailureTarget
		switch {
		case !v.isNew(pod, *uncounted):
		case pod.Status.Phase == corev1.PodSucceeded:
			if !isIndexed(v.job) {
				uncounted.Succeeded = append(uncounted.Succeeded, pod.UID)
			}
		case (hasFailed(v.job, pod) || failing && !isActive(pod)) && v.counts(pod):
			uncounted.Failed = append(uncounted.Failed, pod.UID)
		}
	}
	return counted
}

// end sets the conditions of a status.
func (v *view) end(status *batchv1.JobStatus) {
	add := func(of batchv1.JobConditionType, value corev1.ConditionStatus, reason, message string) {
		status.Conditions = slices.DeleteFunc(status.Conditions, func(old batchv1.JobCondition) bool { return old.Type == of })
		status.Conditions = append(status.Conditions, *newCondition(of, value, reason, message, v.now))
	}
	suspended := condition(v.job, batchv1.JobSuspended) != nil
	switch ending := v.ending; {
	case ending != nil && condition(v.job, ending.Type) == nil:
		add(ending.Type, corev1.ConditionTrue, ending.Reason, ending.Message)
	case ending != nil:
		uncounted := status.UncountedTerminatedPods
		if len(v.active)+int(v.terminating)+len(trackedOf(v.pods))+len(uncounted.Succeeded)+len(uncounted.Failed) > 0 {
			return
		}
		if status.StartTime == nil { // it was suspended
			status.StartTime = new(metav1.NewTime(v.now))
		}
		if ending.Type == batchv1.JobFailureTarget {
			add(batchv1.JobFailed, corev1.ConditionTrue, ending.Reason, ending.Message)
			return
		}
		add(batchv1.JobComplete, corev1.ConditionTrue, ending.Reason, ending.Message)
		status.CompletionTime = new(metav1.NewTime(v.now))
	case v.job.DeletionTimestamp != nil:
	case isSuspended(v.job) && !suspended && len(v.active) == 0:
		add(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended")
		status.StartTime = nil
	case !isSuspended(v.job) && suspended:
		add(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed")
		status.StartTime = new(metav1.NewTime(v.now))
	}
}
