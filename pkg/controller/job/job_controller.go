// Package job runs the pods of jobs to completion, as a client of the API.
package job

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
	"kube2014/pkg/util"
)

// Why no pod is lost or counted twice:
//
// A pod of a job has a finalizer, so that it does not go before it is counted. It is counted in three
// writes: its uid is put into the status, under uncountedTerminatedPods; then its finalizer is removed;
// then the uid leaves the status, and the number there grows. Each sync does one of these that is left
// to do, for all pods, and decides it from the objects alone. Therefore it does not matter where the
// one before was interrupted, or who did it. A pod with its finalizer is not in the numbers of a
// status, if the pod was read after the status. The version of the copy of the pods says that; else
// they are listed. It mostly does: finalizers are removed first, and that makes the copy newer. The
// server takes the next status only if this one is still the last.

const (
	// burstPods is how many pods a sync creates, deletes or counts at most. It also bounds the status.
	burstPods = 500

	ownerIndex = "job controller: owner"
)

// JobController gives each job its pods until enough have succeeded, or too many have failed.
type JobController struct {
	*controller.Loop
	jobs      *cache.SharedInformer[*batchv1.Job]
	pods      *cache.SharedInformer[*corev1.Pod]
	unsettled sync.Map // by the uid of a job, the last pod that was requested without an answer
	refused   sync.Map // by the uid of a job, that an event has said that it is not supported
}

// NewJobController returns a controller that has its handlers at the informers. They must be run by
// the caller.
func NewJobController(config controller.Config) *JobController {
	c := &JobController{jobs: config.Informers.Jobs(), pods: config.Informers.Pods()}
	c.Loop = controller.NewLoop(config, "job_controller", c.sync)
	c.pods.Store().AddIndex(ownerIndex, ownerKey)
	c.pods.Store().AddIndex(cache.OwnerIndex, cache.OwnerOf)
	c.pods.Store().AddIndex(cache.OrphanIndex, cache.OrphanOf)
	c.jobs.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	jobs := cache.OnChange(func(job *batchv1.Job) { c.Queue.Add(cache.Key(job)) })
	jobs.OnDelete = func(job *batchv1.Job) {
		c.unsettled.Delete(job.UID)
		c.refused.Delete(job.UID)
		c.Queue.Add(cache.Key(job))
	}
	controller.Handle(c.Loop, c.jobs, jobs)
	controller.Handle(c.Loop, c.pods, cache.ResourceEventHandler[*corev1.Pod]{OnAdd: c.podSeen, OnUpdate: c.podChanged, OnDelete: c.queueOwner})
	return c
}

// ownerKey returns the key of the job that controls a pod. Pods without a controller have a key of their
// namespace, and those of other controllers none.
func ownerKey(pod *corev1.Pod) []string {
	if metav1.GetControllerOfNoCopy(pod) == nil {
		return []string{cache.KeyOf(pod.Namespace, "")}
	}
	return controller.KeyOfOwner[*corev1.Pod](controllerKind)(pod)
}

func (c *JobController) queueOwner(pod *corev1.Pod) {
	for _, key := range ownerKey(pod) {
		c.Queue.Add(key)
	}
}

func (c *JobController) podChanged(old, pod *corev1.Pod) {
	c.queueOwner(old)
	if metav1.GetControllerOfNoCopy(old) == nil && maps.Equal(old.Labels, pod.Labels) {
		c.queueOwner(pod)
		return
	}
	c.podSeen(pod)
}

// podSeen queues the job of a pod, or all that may adopt it.
func (c *JobController) podSeen(pod *corev1.Pod) {
	c.queueOwner(pod)
	if metav1.GetControllerOfNoCopy(pod) != nil {
		return
	}
	for _, job := range c.jobs.Store().ByIndex(cache.NamespaceIndex, pod.Namespace) {
		if finished(job) != nil {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector); err == nil && selector.Matches(labels.Set(pod.Labels)) {
			c.Queue.Add(cache.Key(job))
		}
	}
}

// ownOf returns those of some pods that a job controls. It takes the slice.
func ownOf(job *batchv1.Job, pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !metav1.IsControlledBy(pod, job) })
}

// isManagedElsewhere reports whether a job is left to another controller.
func isManagedElsewhere(job *batchv1.Job) bool {
	return job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != batchv1.JobControllerName
}

// unsupported returns a field of a job that asks for what this controller cannot do, nothing if there is none.
func unsupported(job *batchv1.Job) (field string) {
	switch spec := &job.Spec; {
	case spec.PodFailurePolicy != nil:
		return "spec.podFailurePolicy"
	case spec.BackoffLimitPerIndex != nil:
		return "spec.backoffLimitPerIndex"
	case spec.SuccessPolicy != nil:
		return "spec.successPolicy"
	case spec.CompletionMode != nil && *spec.CompletionMode != batchv1.NonIndexedCompletion && !isIndexed(job):
		return "spec.completionMode"
	}
	return ""
}

// condition returns the first condition that is true and of one of some types, nil if there is none.
func condition(job *batchv1.Job, types ...batchv1.JobConditionType) *batchv1.JobCondition {
	return util.Find(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && slices.Contains(types, c.Type)
	})
}

// finished returns the condition by which a job is over, nil if it is not.
func finished(job *batchv1.Job) *batchv1.JobCondition {
	return condition(job, batchv1.JobComplete, batchv1.JobFailed)
}

// sync does the next thing that the job of a key needs, or the pods that have no job.
func (c *JobController) sync(ctx context.Context, key string) error {
	acted, err := c.releaseOrphans(ctx, key)
	if job, exists := c.jobs.Store().Get(key); exists && !acted && err == nil {
		acted, err = c.syncJob(ctx, job)
	}
	if acted && err == nil {
		c.Queue.Add(key)
	}
	return err
}

func (c *JobController) syncJob(ctx context.Context, job *batchv1.Job) (acted bool, err error) {
	if acted, err = c.expire(ctx, job); acted || err != nil {
		return acted, err
	}
	switch field := unsupported(job); {
	case isManagedElsewhere(job):
		return false, nil
	case finished(job) != nil || job.DeletionTimestamp != nil: // nothing is counted any more
		return c.release(ctx, slices.DeleteFunc(controller.OwnedBy(c.pods.Store(), job), func(pod *corev1.Pod) bool { return !isTracked(pod) }))
	case field != "":
		if _, told := c.refused.LoadOrStore(job.UID, true); !told {
			c.Recorder.Eventf(job, corev1.EventTypeWarning, "Unsupported",
				"The job is left alone because of %s, which is not supported here. Today's job-controller runs it", field)
		}
		return false, nil
	}
	return c.step(ctx, job)
}

// step does the first thing that is left to do for a job. It reports whether there was any.
func (c *JobController) step(ctx context.Context, job *batchv1.Job) (acted bool, err error) {
	if acted, err = c.claim(ctx, job); acted || err != nil {
		return acted, err
	}
	version := c.pods.Version() // before the pods are read
	v := newView(job, controller.OwnedBy(c.pods.Store(), job), time.Now())
	if len(v.counted) > 0 {
		return c.release(ctx, v.counted)
	}
	if order, err := resourceversion.CompareResourceVersion(version, job.ResourceVersion); v.counts && (err != nil || order < 0) {
		listed, err := c.Client.In(job.Namespace).Pods().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		v = newView(job, ownOf(job, listed.Items), v.now)
	}
	if !equality.Semantic.DeepEqual(v.status, job.Status) {
		return true, c.updateStatus(ctx, v)
	}
	surplus := v.surplus()
	missing, wait := v.missing()
	if wait = min(wait, v.untilDeadline()); wait < forever {
		c.Queue.AddAfter(cache.Key(job), wait)
	}
	if len(surplus)+len(missing) == 0 {
		return false, nil
	}
	// Its status says what has been counted, and so how many pods it needs.
	if err := controller.ConfirmVersion(ctx, c.Client.In(job.Namespace).Jobs(), job); err != nil {
		return false, err
	}
	if len(surplus) > 0 {
		return c.deletePods(ctx, v, surplus)
	}
	return controller.Each(ctx, c.newPods(job, missing), func(pod *corev1.Pod) (controller.Expectation, error) {
		return c.createPod(ctx, job, pod)
	})
}

// updateStatus writes the status of a job, tells what has become of it, and waits until the cache shows it.
func (c *JobController) updateStatus(ctx context.Context, v *view) error {
	updated := v.job.DeepCopy()
	updated.Status = v.status
	written, err := c.Client.In(v.job.Namespace).Jobs().UpdateStatus(ctx, updated)
	if err != nil {
		return controller.OrStale(err)
	}
	if event := v.event; event.reason != "" {
		c.Recorder.Eventf(written, event.kind, event.reason, "%s", event.message)
	}
	return controller.Await(ctx, controller.Shows(c.jobs, written))
}
