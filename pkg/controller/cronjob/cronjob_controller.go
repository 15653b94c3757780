// Package cronjob creates the jobs of cron jobs at their times, as a client of the API.
package cronjob

import (
	"context"
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/workqueue"
)

// Config is what a CronJobController needs.
type Config struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	Recorder  record.EventRecorder
	// Around is put around the work on one cron job, for a trace. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

const (
	// stalePause is the pause before a retry with a stale cache, unless a change of the cron job or of
	// its jobs comes first.
	stalePause = time.Second

	ownerIndex = "cron job controller: uid of the cron job"
)

// errStale reports that the server has something newer than the cache. The sync is retried, and
// nothing is logged.
var errStale = errors.New("the copy is behind")

// CronJobController gives each cron job a job at each of its times. The time is in the job's name, so
// that there is one job for a time, whatever gets lost.
type CronJobController struct {
	config   Config
	cronJobs *cache.SharedInformer[*batchv1.CronJob]
	jobs     *cache.SharedInformer[*batchv1.Job]
	synced   []func() bool
	queue    *workqueue.Queue
}

// NewCronJobController returns a controller that has its handlers at the informers. They must be run by
// the caller.
func NewCronJobController(config Config) *CronJobController {
	c := &CronJobController{config: config, cronJobs: config.Informers.CronJobs(), jobs: config.Informers.Jobs(), queue: workqueue.New("cronjob_controller")}
	c.jobs.Store().AddIndex(ownerIndex, func(job *batchv1.Job) []string {
		if owner := metav1.GetControllerOfNoCopy(job); owner != nil {
			return []string{string(owner.UID)}
		}
		return nil
	})
	add := func(cronJob *batchv1.CronJob) { c.queue.Add(cache.Key(cronJob)) }
	c.synced = []func() bool{
		c.cronJobs.AddHandler(cache.Handler[*batchv1.CronJob]{OnAdd: add, OnUpdate: func(_, cronJob *batchv1.CronJob) { add(cronJob) }}),
		c.jobs.AddHandler(cache.Handler[*batchv1.Job]{OnAdd: c.jobSeen, OnDelete: c.jobSeen, OnUpdate: func(old, job *batchv1.Job) {
			if old.ResourceVersion != job.ResourceVersion { // else it is a resync: the cron jobs have one of their own
				c.jobSeen(old)
				c.jobSeen(job)
			}
		}}),
	}
	return c
}

// Run syncs cron jobs with a number of workers until the context ends. It is called once.
func (c *CronJobController) Run(ctx context.Context, workers int) {
	if !cache.WaitForSync(ctx, c.synced...) {
		return
	}
	c.queue.Run(ctx, workers, workqueue.Sync(c.sync).Inside(c.config.Around))
}

func (c *CronJobController) jobSeen(job *batchv1.Job) {
	if owner := metav1.GetControllerOfNoCopy(job); owner != nil && owner.Kind == "CronJob" {
		c.queue.Add(cache.KeyOf(job.Namespace, owner.Name))
	}
}

// finished returns the condition by which a job is over, nothing if it is not.
func finished(job *batchv1.Job) batchv1.JobConditionType {
	for _, condition := range job.Status.Conditions {
		if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
			return condition.Type
		}
	}
	return ""
}

// sync does the next thing that the cron job of a key needs.
func (c *CronJobController) sync(ctx context.Context, key string) error {
	cronJob, exists := c.cronJobs.Store().Get(key)
	if !exists {
		return nil
	}
	acted, err := c.step(ctx, cronJob)
	switch {
	case errors.Is(err, errStale):
		c.queue.AddAfter(key, stalePause)
		return nil
	case err == nil && acted:
		c.queue.Add(key)
	}
	return err
}

// step does the first thing that is left to do. It reports whether there was any.
func (c *CronJobController) step(ctx context.Context, cronJob *batchv1.CronJob) (acted bool, err error) {
	jobs := c.jobs.Store().ByIndex(ownerIndex, string(cronJob.UID))
	if acted, err = c.observe(ctx, cronJob, jobs); acted || err != nil {
		return acted, err
	}
	acted, err = c.cleanUp(ctx, cronJob, jobs)
	if acted || errors.Is(err, errStale) || cronJob.DeletionTimestamp != nil || cronJob.Spec.Suspend != nil && *cronJob.Spec.Suspend {
		return acted, err
	}
	acted, failed := c.start(ctx, cronJob) // old jobs do not keep new ones from starting
	return acted, errors.Join(err, failed)
}

// observe writes into the status what has become of the jobs.
func (c *CronJobController) observe(ctx context.Context, cronJob *batchv1.CronJob, jobs []*batchv1.Job) (acted bool, err error) {
	status := cronJob.Status.DeepCopy()
	var events []func()
	tell := func(eventType, reason, message string, args ...any) {
		events = append(events, func() { c.config.Recorder.Eventf(cronJob, eventType, reason, message, args...) })
	}
	for _, job := range jobs {
		over, isActive := finished(job), slices.ContainsFunc(status.Active, isTo(job))
		if at := timeOf(cronJob, job); at != nil && (status.LastScheduleTime == nil || at.After(status.LastScheduleTime.Time)) { // an answer was lost
			status.LastScheduleTime = at
			if over == "" && !isActive {
				status.Active = append(status.Active, referenceTo(job))
			}
		} else if over == "" && !isActive {
			c.config.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", job.Name)
		}
		if over != "" && isActive {
			status.Active = slices.DeleteFunc(status.Active, isTo(job))
			tell(corev1.EventTypeNormal, "SawCompletedJob", "Saw completed job: %s, condition: %s", job.Name, over)
		}
		if at := job.Status.CompletionTime; over == batchv1.JobComplete && at != nil && (status.LastSuccessfulTime == nil || at.After(status.LastSuccessfulTime.Time)) {
			status.LastSuccessfulTime = at
		}
	}
	for _, active := range slices.Clone(status.Active) {
		if slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return job.UID == active.UID }) {
			continue
		}
		job, err := c.config.Client.In(cronJob.Namespace).Jobs().Get(ctx, active.Name) // the copy may be late
		if err == nil && job.UID == active.UID {
			continue
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
		status.Active = slices.DeleteFunc(status.Active, func(other corev1.ObjectReference) bool { return other.UID == active.UID })
		tell(corev1.EventTypeNormal, "MissingJob", "Active job went missing: %s", active.Name)
	}
	acted, err = c.updateStatus(ctx, cronJob, *status)
	if acted {
		for _, told := range events {
			told()
		}
	}
	return acted, err
}

// isTo returns a function that reports whether a reference is to a job.
func isTo(job *batchv1.Job) func(corev1.ObjectReference) bool {
	return func(active corev1.ObjectReference) bool { return active.UID == job.UID }
}

// updateStatus writes the status of a cron job, if that has changed, and waits until the cache shows it.
func (c *CronJobController) updateStatus(ctx context.Context, cronJob *batchv1.CronJob, status batchv1.CronJobStatus) (changed bool, err error) {
	if equality.Semantic.DeepEqual(status, cronJob.Status) {
		return false, nil
	}
	updated := cronJob.DeepCopy()
	updated.Status = status
	written, err := c.config.Client.In(cronJob.Namespace).CronJobs().UpdateStatus(ctx, updated)
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return false, errStale
	case err != nil:
		return false, err
	}
	return true, cache.Await(ctx, c.cronJobs.Shows(written))
}

// cleanUp deletes the oldest finished jobs, all but the last ones.
func (c *CronJobController) cleanUp(ctx context.Context, cronJob *batchv1.CronJob, jobs []*batchv1.Job) (acted bool, err error) {
	var old []*batchv1.Job
	for over, limit := range map[batchv1.JobConditionType]*int32{
		batchv1.JobComplete: cronJob.Spec.SuccessfulJobsHistoryLimit, batchv1.JobFailed: cronJob.Spec.FailedJobsHistoryLimit,
	} {
		if limit == nil {
			continue
		}
		ended := slices.DeleteFunc(slices.Clone(jobs), func(job *batchv1.Job) bool { return finished(job) != over || job.DeletionTimestamp != nil })
		slices.SortFunc(ended, compareStart)
		old = append(old, ended[:max(0, len(ended)-int(*limit))]...)
	}
	if len(old) == 0 {
		return false, nil
	}
	if err := c.confirm(ctx, cronJob); err != nil {
		return false, err
	}
	return true, c.deleteJobs(ctx, cronJob, old)
}

// deleteJobs deletes jobs; their pods are garbage then.
func (c *CronJobController) deleteJobs(ctx context.Context, cronJob *batchv1.CronJob, jobs []*batchv1.Job) error {
	background := metav1.DeletePropagationBackground
	for _, job := range jobs {
		err := c.config.Client.In(job.Namespace).Jobs().Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: &background,
			Preconditions: metav1.NewUIDPreconditions(string(job.UID))})
		switch {
		case err == nil:
			c.config.Recorder.Eventf(cronJob, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted job %s", job.Name)
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is gone
		default:
			if clientv1.IsRefusal(err) {
				c.config.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "FailedDelete", "Deleted job: %s", err)
			}
			return err
		}
		if err := cache.Await(ctx, c.jobs.ShowsDeleted(job)); err != nil {
			return err
		}
	}
	return nil
}

// confirm checks with the server that a cron job is as the cache says. Its status says for which times
// there were jobs.
func (c *CronJobController) confirm(ctx context.Context, cronJob *batchv1.CronJob) error {
	current, err := c.config.Client.In(cronJob.Namespace).CronJobs().Get(ctx, cronJob.Name)
	if apierrors.IsNotFound(err) || err == nil && (current.UID != cronJob.UID || current.ResourceVersion != cronJob.ResourceVersion) {
		return errStale
	}
	return err
}
