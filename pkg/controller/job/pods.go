package job

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
)

// isTracked reports whether a pod has the finalizer of those that are not counted.
func isTracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

func trackedOf(pods []*corev1.Pod) (tracked []*corev1.Pod) {
	for _, pod := range pods {
		if isTracked(pod) {
			tracked = append(tracked, pod)
		}
	}
	return tracked
}

func matches(selector labels.Selector, pod *corev1.Pod) bool {
	return selector.Matches(labels.Set(pod.Labels))
}

// podsOf returns the pods that a job controls. If they have to be counted, they are as the server had
// them after it had the job's status, or later.
// fresh reports whether that is so.
func (c *JobController) podsOf(ctx context.Context, job *batchv1.Job) (owned []*corev1.Pod, fresh bool, err error) {
	version := c.pods.Version()
	owned = c.pods.Store().ByIndex(ownerIndex, string(job.UID))
	order, err := resourceversion.CompareResourceVersion(version, job.ResourceVersion)
	last, _ := c.last.Load(job.UID)
	if fresh = err == nil && order >= 0 || last == job.ResourceVersion; fresh || !mustCount(job, owned) {
		return owned, fresh, nil
	}
	owned = nil
	for pod, err := range c.config.Client.In(job.Namespace).Pods().All(ctx, metav1.ListOptions{}) {
		if err != nil {
			return nil, false, err
		}
		if metav1.IsControlledBy(pod, job) {
			owned = append(owned, pod)
		}
	}
	return owned, false, nil // the copy does not show them
}

func mustCount(job *batchv1.Job, pods []*corev1.Pod) bool {
	uncounted := job.Status.UncountedTerminatedPods
	return uncounted != nil && len(uncounted.Succeeded)+len(uncounted.Failed) > 0 ||
		slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return isTracked(pod) && !isActive(pod) })
}

// claim adopts the pods that a job selects and that have no controller. It releases its own that it
// does not select any more: they are not counted.
func (c *JobController) claim(ctx context.Context, job *batchv1.Job) (acted bool, err error) {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return false, err
	}
	var adopted, released []*corev1.Pod
	for _, pod := range c.pods.Store().ByIndex(orphanIndex, job.Namespace) {
		if pod.DeletionTimestamp == nil && matches(selector, pod) {
			adopted = append(adopted, pod)
		}
	}
	for _, pod := range c.pods.Store().ByIndex(ownerIndex, string(job.UID)) {
		if pod.Namespace == job.Namespace && !matches(selector, pod) {
			released = append(released, pod)
		}
	}
	if len(adopted)+len(released) == 0 {
		return false, nil
	}
	if err := c.confirm(ctx, job); err != nil {
		return false, err
	}
	var expected []cache.Expectation
	for _, pod := range released {
		owners := slices.DeleteFunc(slices.Clone(pod.OwnerReferences), func(owner metav1.OwnerReference) bool { return owner.UID == job.UID })
		patched, err := c.patchPod(ctx, pod, owners, withoutFinalizer(pod))
		if err != nil {
			return false, err
		}
		expected = append(expected, c.pods.Shows(patched))
	}
	for _, pod := range adopted {
		owners := append(slices.Clone(pod.OwnerReferences), controllerReference(job))
		patched, err := c.patchPod(ctx, pod, owners, append(withoutFinalizer(pod), batchv1.JobTrackingFinalizer))
		if err != nil {
			return false, err
		}
		expected = append(expected, c.pods.Shows(patched))
	}
	return true, cache.Await(ctx, expected...)
}

func controllerReference(job *batchv1.Job) metav1.OwnerReference {
	return *metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
}

// withoutFinalizer returns the other finalizers of a pod.
func withoutFinalizer(pod *corev1.Pod) []string {
	return slices.DeleteFunc(slices.Clone(pod.Finalizers), func(finalizer string) bool { return finalizer == batchv1.JobTrackingFinalizer })
}

// patchPod sets the owners and finalizers of a pod, if the cache has its newest version.
func (c *JobController) patchPod(ctx context.Context, pod *corev1.Pod, owners []metav1.OwnerReference, finalizers []string) (*corev1.Pod, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion, "ownerReferences": owners, "finalizers": finalizers,
	}})
	if err != nil {
		return nil, err
	}
	patched, err := c.config.Client.In(pod.Namespace).Pods().Patch(ctx, pod.Name, types.MergePatchType, patch)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil, errStale
	}
	return patched, err
}

// releasePods removes the finalizers of pods that are counted, or that nobody counts.
func (c *JobController) releasePods(ctx context.Context, pods []*corev1.Pod) (acted bool, err error) {
	var expected []cache.Expectation
	var failed error
	for _, pod := range pods {
		if _, err := c.patchPod(ctx, pod, pod.OwnerReferences, withoutFinalizer(pod)); err != nil {
			failed = err
			continue // the next ones are no worse for that
		}
		expected = append(expected, c.showsReleased(pod))
	}
	if err := cache.Await(ctx, expected...); err != nil {
		return false, err
	}
	return len(expected) > 0, failed
}

// showsReleased expects that a pod is gone from the copy, or has no finalizer there.
func (c *JobController) showsReleased(pod *corev1.Pod) cache.Expectation {
	return func() bool {
		cached, exists := c.pods.Store().Get(cache.Key(pod))
		return !exists || cached.UID != pod.UID || !isTracked(cached)
	}
}

// syncOrphan removes the finalizer of a pod that has no job.
func (c *JobController) syncOrphan(ctx context.Context, key string) error {
	pod, exists := c.pods.Store().Get(key)
	if !exists || !isTracked(pod) {
		return nil
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner == nil {
		if len(c.adopters(pod)) > 0 {
			return nil
		}
	} else {
		if !isJob(owner) {
			return nil
		}
		job, err := c.config.Client.In(pod.Namespace).Jobs().Get(ctx, owner.Name)
		if err == nil && job.UID == owner.UID || err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	_, err := c.releasePods(ctx, []*corev1.Pod{pod})
	return err
}

// deletePods deletes the active pods of a job that ends. They keep their finalizers until they are
// counted.
func (c *JobController) deletePods(ctx context.Context, job *batchv1.Job, pods []*corev1.Pod) (acted bool, err error) {
	return c.each(ctx, pods[:min(len(pods), burstPods)], func(pod *corev1.Pod) error { return c.deletePod(ctx, job, pod) })
}

// removePods deletes active pods that a job does not need. They do not count as failed, so their
// finalizers go first.
func (c *JobController) removePods(ctx context.Context, job *batchv1.Job, pods []*corev1.Pod) (acted bool, err error) {
	return c.each(ctx, pods, func(pod *corev1.Pod) error {
		if err := c.lookAhead(job); err != nil {
			return err
		}
		if isTracked(pod) {
			if _, err := c.patchPod(ctx, pod, pod.OwnerReferences, withoutFinalizer(pod)); err != nil {
				return err
			}
		}
		return c.deletePod(ctx, job, pod)
	})
}

// each deletes pods, one after the other, until that fails.
func (c *JobController) each(ctx context.Context, pods []*corev1.Pod, remove func(*corev1.Pod) error) (acted bool, err error) {
	var expected []cache.Expectation
	var failed error
	for _, pod := range pods {
		if failed = remove(pod); failed != nil {
			break
		}
		expected = append(expected, c.pods.ShowsDeleted(pod))
	}
	if err := cache.Await(ctx, expected...); err != nil {
		return false, err
	}
	return len(expected) > 0, failed
}

// deletePod deletes a pod. One that is gone is no error.
func (c *JobController) deletePod(ctx context.Context, job *batchv1.Job, pod *corev1.Pod) error {
	err := c.config.Client.In(pod.Namespace).Pods().Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	switch {
	case err == nil:
		c.config.Recorder.Eventf(job, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case clientv1.IsRefusal(err):
		c.config.Recorder.Eventf(job, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %s", err)
	}
	return err
}

// expire deletes a finished job, and its pods, when its time is over.
func (c *JobController) expire(ctx context.Context, job *batchv1.Job, over *batchv1.JobCondition) (acted bool, err error) {
	if over.LastTransitionTime.IsZero() { // its controller did not say when it ended
		return false, nil
	}
	after := time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second
	if wait := time.Until(over.LastTransitionTime.Add(after)); wait > 0 {
		c.queue.AddAfter(cache.Key(job), wait)
		return false, nil
	}
	foreground := metav1.DeletePropagationForeground
	err = c.config.Client.In(job.Namespace).Jobs().Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: &foreground,
		Preconditions: &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, errStale
	}
	if err != nil {
		return false, err
	}
	return true, cache.Await(ctx, c.jobs.ShowsDeleted(job))
}
