// Package job runs the pods of jobs to completion, as a client of the API.
package job

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/workqueue"
)

// Why no pod is lost or counted twice:
//
// A pod of a job has a finalizer, so that it does not go before it is counted. It is counted in three
// writes: its uid is put into the status, under uncountedTerminatedPods; then its finalizer is removed;
// then the uid leaves the status, and the number there grows. Each sync does the first of these that
// is left to do, for all pods, and decides it from the objects alone. Therefore it does not matter
// where the one before was interrupted, or who did it. A pod with its finalizer is not in the numbers
// of a status, if the pod was read after the status. The version of the copy of the pods says that;
// else they are listed. The server takes the next status only if this one is still the last.

// Config is what a JobController needs.
type Config struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	Recorder  record.EventRecorder
	// Around is put around the work on one job, for a trace. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

const (
	// stalePause is the pause before a retry with a stale cache, unless a change of the job or of its
	// pods comes first.
	stalePause = time.Second

	// burstPods is how many pods a sync creates, deletes or counts at most. It also bounds the status.
	burstPods = 500

	// orphanPrefix is what the keys of pods begin with, which have a finalizer but perhaps no job. It is
	// in no namespace.
	orphanPrefix = "pod:"

	ownerIndex  = "job controller: uid of the job"
	orphanIndex = "job controller: namespace of what has no controller"
)

// errStale reports that the server has something newer than the cache. The sync is retried, and
// nothing is logged.
var errStale = errors.New("the copy is behind")

// JobController gives each job its pods until enough have succeeded, or too many have failed.
type JobController struct {
	config    Config
	jobs      *cache.SharedInformer[*batchv1.Job]
	pods      *cache.SharedInformer[*corev1.Pod]
	synced    []func() bool
	queue     *workqueue.Queue
	unsettled sync.Map // by the uid of a job, the names of the pods that were requested without an answer
	last      sync.Map // by the uid of a job, the version of the last status that says no more than the copy of the pods
}

// NewJobController returns a controller that has its handlers at the informers. They must be run by
// the caller.
func NewJobController(config Config) *JobController {
	c := &JobController{config: config, jobs: config.Informers.Jobs(), pods: config.Informers.Pods(), queue: workqueue.New("job_controller")}
	c.jobs.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	c.pods.Store().AddIndex(ownerIndex, func(pod *corev1.Pod) []string {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			return []string{string(owner.UID)}
		}
		return nil
	})
	c.pods.Store().AddIndex(orphanIndex, func(pod *corev1.Pod) []string {
		if metav1.GetControllerOfNoCopy(pod) == nil {
			return []string{pod.Namespace}
		}
		return nil
	})
	add := func(job *batchv1.Job) { c.queue.Add(cache.Key(job)) }
	c.synced = []func() bool{
		c.jobs.AddHandler(cache.Handler[*batchv1.Job]{OnAdd: add, OnUpdate: func(_, job *batchv1.Job) { add(job) }, OnDelete: c.jobDeleted}),
		c.pods.AddHandler(cache.Handler[*corev1.Pod]{OnAdd: c.podSeen, OnUpdate: c.podChanged, OnDelete: c.podSeen}),
	}
	return c
}

// Run syncs jobs with a number of workers until the context ends. It is called once.
func (c *JobController) Run(ctx context.Context, workers int) {
	if !cache.WaitForSync(ctx, c.synced...) {
		return
	}
	c.queue.Run(ctx, workers, workqueue.Sync(c.sync).Inside(c.config.Around))
}

func (c *JobController) jobDeleted(job *batchv1.Job) {
	c.unsettled.Delete(job.UID)
	c.last.Delete(job.UID)
	for _, pod := range c.pods.Store().ByIndex(ownerIndex, string(job.UID)) {
		c.podSeen(pod)
	}
}

func (c *JobController) podChanged(old, pod *corev1.Pod) {
	if old.ResourceVersion == pod.ResourceVersion { // a resync: the jobs have one of their own
		return
	}
	if before, after := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(pod); before != nil && (after == nil || after.UID != before.UID) {
		c.podSeen(old)
	}
	c.podSeen(pod)
}

// podSeen queues the job of a pod, or all that may adopt it. It queues the pod itself if its finalizer
// may have to go.
func (c *JobController) podSeen(pod *corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner != nil && !isJob(owner) {
		return
	}
	if owner != nil {
		key := cache.KeyOf(pod.Namespace, owner.Name)
		if job, exists := c.jobs.Store().Get(key); exists && job.UID == owner.UID {
			c.queue.Add(key)
			return
		}
	}
	if isTracked(pod) {
		c.queue.Add(orphanPrefix + cache.Key(pod))
	}
	if owner == nil {
		for _, job := range c.adopters(pod) {
			c.queue.Add(cache.Key(job))
		}
	}
}

// adopters returns the jobs that may adopt a pod.
func (c *JobController) adopters(pod *corev1.Pod) (jobs []*batchv1.Job) {
	for _, job := range c.jobs.Store().ByIndex(cache.NamespaceIndex, pod.Namespace) {
		if pod.DeletionTimestamp == nil && job.DeletionTimestamp == nil && finished(job) == nil && !isManagedElsewhere(job) && selectsPod(job, pod) {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// isJob reports whether a reference is to a job.
func isJob(owner *metav1.OwnerReference) bool {
	return owner.Kind == "Job" && owner.APIVersion == batchv1.SchemeGroupVersion.String()
}

// isManagedElsewhere reports whether a job is left to another controller.
func isManagedElsewhere(job *batchv1.Job) bool {
	return job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != batchv1.JobControllerName
}

// selectsPod reports whether the selector of a job matches the labels of a pod.
func selectsPod(job *batchv1.Job, pod *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	return err == nil && matches(selector, pod)
}

// condition returns the condition of a type if it is true, else nil.
func condition(job *batchv1.Job, of batchv1.JobConditionType) *batchv1.JobCondition {
	for i, condition := range job.Status.Conditions {
		if condition.Type == of && condition.Status == corev1.ConditionTrue {
			return &job.Status.Conditions[i]
		}
	}
	return nil
}

// finished returns the condition by which a job is over, nil if it is not.
func finished(job *batchv1.Job) *batchv1.JobCondition {
	if complete := condition(job, batchv1.JobComplete); complete != nil {
		return complete
	}
	return condition(job, batchv1.JobFailed)
}

// sync does the next thing that the job of a key needs, or its pod.
func (c *JobController) sync(ctx context.Context, key string) error {
	acted, err := false, error(nil)
	if podKey, isPod := strings.CutPrefix(key, orphanPrefix); isPod {
		err = c.syncOrphan(ctx, podKey)
	} else if job, exists := c.jobs.Store().Get(key); exists {
		acted, err = c.syncJob(ctx, job)
	}
	switch {
	case errors.Is(err, errStale):
		c.queue.AddAfter(key, stalePause)
		return nil
	case err == nil && acted:
		c.queue.Add(key)
	}
	return err
}

func (c *JobController) syncJob(ctx context.Context, job *batchv1.Job) (acted bool, err error) {
	if over := finished(job); over != nil && job.Spec.TTLSecondsAfterFinished != nil && job.DeletionTimestamp == nil {
		if acted, err = c.expire(ctx, job, over); acted || err != nil {
			return acted, err
		}
	}
	switch mode := job.Spec.CompletionMode; {
	case isManagedElsewhere(job):
		return false, nil
	case finished(job) != nil: // a pod may have been adopted meanwhile
		return c.releasePods(ctx, trackedOf(c.pods.Store().ByIndex(ownerIndex, string(job.UID))))
	case mode != nil && *mode != batchv1.NonIndexedCompletion && *mode != batchv1.IndexedCompletion:
		c.config.Recorder.Eventf(job, corev1.EventTypeWarning, "UnknownCompletionMode", "Skipped Job sync because completion mode is unknown")
		return false, nil
	}
	return c.step(ctx, job)
}

// step does the first thing that is left to do for a job. It reports whether there was any.
func (c *JobController) step(ctx context.Context, job *batchv1.Job) (acted bool, err error) {
	if job.DeletionTimestamp == nil {
		if acted, err = c.claim(ctx, job); acted || err != nil {
			return acted, err
		}
	}
	owned, fresh, err := c.podsOf(ctx, job)
	if err != nil {
		return false, err
	}
	v := newView(job, owned, time.Now())
	status, counted := v.status()
	written, err := c.updateStatus(ctx, job, status)
	if written != nil && fresh { // nobody has counted anything in between
		c.last.Store(job.UID, written.ResourceVersion)
	}
	if written != nil || err != nil {
		return written != nil, err
	}
	if acted, err = c.releasePods(ctx, counted); acted || err != nil {
		return acted, err
	}
	return c.manage(ctx, v)
}

// manage creates and deletes the pods of a job that has nothing to count.
func (c *JobController) manage(ctx context.Context, v *view) (acted bool, err error) {
	job, key := v.job, cache.Key(v.job)
	if job.DeletionTimestamp != nil {
		return false, nil
	}
	if v.ending != nil {
		return c.deletePods(ctx, job, v.active)
	}
	if job.Spec.ActiveDeadlineSeconds != nil && job.Status.StartTime != nil && !isSuspended(job) {
		c.queue.AddAfter(key, v.untilDeadline())
	}
	if surplus := v.surplus(); len(surplus) > 0 {
		if err := c.confirm(ctx, job); err != nil {
			return false, err
		}
		return c.removePods(ctx, job, surplus[:min(len(surplus), burstPods)])
	}
	missing, wait := v.missing()
	if wait > 0 {
		c.queue.AddAfter(key, wait)
	}
	if len(missing) == 0 {
		return false, nil
	}
	if err := c.confirm(ctx, job); err != nil {
		return false, err
	}
	return c.createPods(ctx, v, missing)
}

// confirm checks with the server that a job is as the cache says. Its status says what has been
// counted, and so how many pods it needs.
func (c *JobController) confirm(ctx context.Context, job *batchv1.Job) error {
	current, err := c.config.Client.In(job.Namespace).Jobs().Get(ctx, job.Name)
	if apierrors.IsNotFound(err) || err == nil && (current.UID != job.UID || current.ResourceVersion != job.ResourceVersion) {
		return errStale
	}
	return err
}

// lookAhead returns errStale if a job has changed in the cache meanwhile.
func (c *JobController) lookAhead(job *batchv1.Job) error {
	current, exists := c.jobs.Store().Get(cache.Key(job))
	if !exists || current.UID != job.UID || current.DeletionTimestamp != nil || current.Generation != job.Generation {
		return errStale
	}
	return nil
}
