package job

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
)

// tracker is the finalizer of pods that are not counted.
const tracker = batchv1.JobTrackingFinalizer

// claim adopts the pods that a job selects and that have no controller. It releases its own that it
// does not select any more: they are not counted.
func (c *JobController) claim(ctx context.Context, job *batchv1.Job) (acted bool, err error) {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return false, err
	}
	counts := func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp == nil || metav1.GetControllerOfNoCopy(pod) != nil
	}
	selects := func(pod *corev1.Pod) bool { return selector.Matches(labels.Set(pod.Labels)) }
	owners := controller.Claims(c.pods.Store(), job, controllerKind, counts, selects)
	if len(owners) == 0 {
		return false, nil
	}
	if err := controller.ConfirmVersion(ctx, c.Client.In(job.Namespace).Jobs(), job); err != nil {
		return false, err
	}
	return controller.Each(ctx, slices.Collect(maps.Keys(owners)), func(pod *corev1.Pod) (controller.Expectation, error) {
		return c.patchPod(ctx, pod, owners[pod], metav1.GetControllerOfNoCopy(pod) == nil)
	})
}

var controllerKind = batchv1.SchemeGroupVersion.WithKind("Job")

// patchPod gives a pod other owners, and the finalizer or not, if the cache has its newest version.
func (c *JobController) patchPod(
	ctx context.Context, pod *corev1.Pod, owners []metav1.OwnerReference, track bool,
) (controller.Expectation, error) {
	finalizers := slices.DeleteFunc(slices.Clone(pod.Finalizers), func(name string) bool { return name == tracker })
	if track {
		finalizers = append(finalizers, tracker)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion, "ownerReferences": owners, "finalizers": finalizers,
	}})
	if err != nil {
		return nil, err
	}
	_, err = c.Client.In(pod.Namespace).Pods().Patch(ctx, pod.Name, types.MergePatchType, patch)
	return func() bool { // no version is between these two, and the pod may be gone
		cached, exists := c.pods.Store().Get(cache.Key(pod))
		return !exists || cached.ResourceVersion != pod.ResourceVersion
	}, controller.OrStale(err)
}

// release removes the finalizers of pods that are counted, or that nobody counts.
func (c *JobController) release(ctx context.Context, pods []*corev1.Pod) (acted bool, err error) {
	return controller.Each(ctx, pods, func(pod *corev1.Pod) (controller.Expectation, error) {
		return c.patchPod(ctx, pod, pod.OwnerReferences, false)
	})
}

// releaseOrphans removes the finalizers of the pods at a key that have no job, or another one than the
// copy has.
func (c *JobController) releaseOrphans(ctx context.Context, key string) (acted bool, err error) {
	job, exists := c.jobs.Store().Get(key)
	orphans := slices.DeleteFunc(c.pods.Store().ByIndex(ownerIndex, key), func(pod *corev1.Pod) bool {
		return !isTracked(pod) || exists && metav1.IsControlledBy(pod, job)
	})
	if len(orphans) == 0 {
		return false, nil
	}
	if owner := metav1.GetControllerOfNoCopy(orphans[0]); owner != nil {
		job, err := c.Client.In(orphans[0].Namespace).Jobs().Get(ctx, owner.Name)
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
		orphans = slices.DeleteFunc(orphans, func(pod *corev1.Pod) bool {
			return err == nil && metav1.IsControlledBy(pod, job) // the copy of the jobs is late
		})
	}
	return c.release(ctx, orphans)
}

// createPod creates a pod. If its name is taken, it waits until the copy shows that.
func (c *JobController) createPod(ctx context.Context, job *batchv1.Job, pod *corev1.Pod) (controller.Expectation, error) {
	if current, _ := c.jobs.Store().Get(cache.Key(job)); current != job { // it may want something else now
		return nil, controller.ErrStale
	}
	pods := c.Client.In(job.Namespace).Pods()
	created, err := pods.Create(ctx, pod)
	switch {
	case err == nil:
		c.Recorder.Eventf(job, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", pod.Name)
	case apierrors.IsAlreadyExists(err):
		created, err = pods.Get(ctx, pod.Name)
	case !clientv1.IsRefusal(err):
		c.unsettled.Store(job.UID, pod)
	case !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		c.Recorder.Eventf(job, corev1.EventTypeWarning, "FailedCreate", "Error creating: %s", err)
	}
	if err != nil {
		return nil, controller.OrStale(err)
	}
	c.unsettled.Delete(job.UID)
	return controller.Shows(c.pods, created), nil
}

// deletePods deletes active pods. Those of a job that ends keep their finalizers until they are
// counted; the others have not failed, and do not count.
func (c *JobController) deletePods(ctx context.Context, v *view, pods []*corev1.Pod) (acted bool, err error) {
	return controller.EachUnlessRefused(ctx, pods, func(pod *corev1.Pod) (controller.Expectation, error) {
		if v.ending == nil && isTracked(pod) {
			if _, err := c.patchPod(ctx, pod, pod.OwnerReferences, false); err != nil {
				return nil, err
			}
		}
		isThis := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
		err := c.Client.In(pod.Namespace).Pods().Delete(ctx, pod.Name, isThis)
		switch {
		case err == nil:
			c.Recorder.Eventf(v.job, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is gone
		default:
			if clientv1.IsRefusal(err) {
				c.Recorder.Eventf(v.job, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %s", err)
			}
			return nil, err
		}
		return controller.ShowsDeleted(c.pods, pod), nil
	})
}

// expire deletes a finished job, and its pods, when its time is over.
func (c *JobController) expire(ctx context.Context, job *batchv1.Job) (acted bool, err error) {
	over, seconds := finished(job), job.Spec.TTLSecondsAfterFinished
	if over == nil || over.LastTransitionTime.IsZero() || seconds == nil || job.DeletionTimestamp != nil {
		return false, nil
	}
	if wait := time.Until(over.LastTransitionTime.Add(time.Duration(*seconds) * time.Second)); wait > 0 {
		c.Queue.AddAfter(cache.Key(job), wait)
		return false, nil
	}
	err = c.Client.In(job.Namespace).Jobs().Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationForeground),
		Preconditions:     &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion}})
	if err != nil {
		return false, controller.OrStale(err)
	}
	return true, controller.Await(ctx, controller.ShowsDeleted(c.jobs, job))
}
