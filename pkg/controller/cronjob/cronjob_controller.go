// Package cronjob creates the jobs of cron jobs at their times, as a client of the API.
package cronjob

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/util"
)

var controllerKind = batchv1.SchemeGroupVersion.WithKind("CronJob")

// CronJobController gives each cron job a job at each of its times. The time is in the job's name, so
// that there is one job for a time, whatever gets lost.
type CronJobController struct {
	*controller.Loop
	cronJobs *cache.SharedInformer[*batchv1.CronJob]
	jobs     *cache.SharedInformer[*batchv1.Job]
}

// NewCronJobController returns a controller that has its handlers at the informers. They must be run by
// the caller.
func NewCronJobController(config controller.Config) *CronJobController {
	c := &CronJobController{cronJobs: config.Informers.CronJobs(), jobs: config.Informers.Jobs()}
	c.Loop = controller.NewLoop(config, "cronjob_controller", c.sync)
	c.jobs.Store().AddIndex(cache.OwnerIndex, cache.OwnerOf)
	// In a resync, the events of the last sync would be told again.
	controller.Handle(c.Loop, c.cronJobs, controller.WithoutResyncs(cache.ResourceEventHandler[*batchv1.CronJob]{OnAdd: c.seen, OnUpdate: c.changed, OnDelete: c.seen}))
	controller.Handle(c.Loop, c.jobs, controller.WithoutResyncs(controller.Handler(c.Queue, controller.KeyOfOwner[*batchv1.Job](controllerKind))))
	return c
}

func (c *CronJobController) seen(cronJob *batchv1.CronJob) { c.Queue.Add(cache.Key(cronJob)) }

// changed queues a cron job. With another schedule it waits for the next time of that, as today's controller does: a sync makes
// good what the new schedule seems to have missed. One at the next time of the old schedule still does.
func (c *CronJobController) changed(old, cronJob *batchv1.CronJob) {
	if old.Spec.Schedule == cronJob.Spec.Schedule && equality.Semantic.DeepEqual(old.Spec.TimeZone, cronJob.Spec.TimeZone) {
		c.seen(cronJob)
	} else if times, ok := c.scheduleOf(cronJob); ok {
		c.Queue.AddAfter(cache.Key(cronJob), time.Until(times.Next(time.Now()))+lateness)
	}
}

// finished returns the condition by which a job is over, nothing if it is not.
func finished(job *batchv1.Job) batchv1.JobConditionType {
	last := util.Find(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
	return cmp.Or(last, &batchv1.JobCondition{}).Type
}

// sync does the next thing that the cron job of a key needs.
func (c *CronJobController) sync(ctx context.Context, key string) error {
	cronJob, exists := c.cronJobs.Store().Get(key)
	if !exists {
		return nil
	}
	acted, err := c.step(ctx, cronJob)
	if acted && err == nil {
		c.Queue.Add(key)
	}
	return err
}

// step does the first thing that is left to do. It reports whether there was any.
func (c *CronJobController) step(ctx context.Context, cronJob *batchv1.CronJob) (acted bool, err error) {
	jobs := controller.OwnedBy(c.jobs.Store(), cronJob)
	if acted, err = c.observe(ctx, cronJob, jobs); acted || err != nil {
		return acted, err
	}
	acted, err = c.cleanUp(ctx, cronJob, jobs)
	isSuspended := cronJob.Spec.Suspend != nil && *cronJob.Spec.Suspend
	if acted || errors.Is(err, controller.ErrStale) || cronJob.DeletionTimestamp != nil || isSuspended {
		return acted, err
	}
	acted, failed := c.start(ctx, cronJob, jobs) // old jobs do not keep new ones from starting
	return acted, errors.Join(err, failed)
}

// observe writes into the status what has become of the jobs.
func (c *CronJobController) observe(ctx context.Context, cronJob *batchv1.CronJob, jobs []*batchv1.Job) (acted bool, err error) {
	status := cronJob.Status.DeepCopy()
	var events []func()
	drop := func(active corev1.ObjectReference, reason, message string, args ...any) {
		status.Active = slices.DeleteFunc(status.Active, isTo(active.UID))
		events = append(events, func() { c.Recorder.Eventf(cronJob, corev1.EventTypeNormal, reason, message, args...) })
	}
	for _, job := range jobs {
		over, at, completed := finished(job), timeOf(cronJob, job), job.Status.CompletionTime
		isActive := slices.ContainsFunc(status.Active, isTo(job.UID))
		isNew := isLater(at, status.LastScheduleTime) // also if an answer was lost
		if isNew {
			status.LastScheduleTime = at
		}
		switch {
		case over != "" && isActive:
			drop(referenceTo(job), "SawCompletedJob", "Saw completed job: %s, condition: %s", job.Name, over)
		case over == "" && !isActive && isNew:
			status.Active = append(status.Active, referenceTo(job))
		case over == "" && !isActive:
			c.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "UnexpectedJob",
				"Saw a job that the controller did not create or forgot: %s", job.Name)
		}
		if over == batchv1.JobComplete && isLater(completed, status.LastSuccessfulTime) {
			status.LastSuccessfulTime = completed
		}
	}
	for _, active := range slices.Clone(status.Active) {
		if slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return job.UID == active.UID }) {
			continue
		}
		job, err := c.Client.In(cronJob.Namespace).Jobs().Get(ctx, active.Name) // the copy may be late
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
		if err != nil || job.UID != active.UID {
			drop(active, "MissingJob", "Active job went missing: %s", active.Name)
		}
	}
	if acted, err = c.updateStatus(ctx, cronJob, *status); acted {
		for _, tell := range events {
			tell()
		}
	}
	return acted, err
}

// isLater reports whether a time is after another one. One that is not known is before all others.
func isLater(at, than *metav1.Time) bool { return at != nil && (than == nil || at.After(than.Time)) }

// isTo returns a function that reports whether a reference is to a uid.
func isTo(uid types.UID) func(corev1.ObjectReference) bool {
	return func(reference corev1.ObjectReference) bool { return reference.UID == uid }
}

// updateStatus writes the status of a cron job, if that has changed, and waits until the cache shows it.
func (c *CronJobController) updateStatus(
	ctx context.Context, cronJob *batchv1.CronJob, status batchv1.CronJobStatus,
) (changed bool, err error) {
	if equality.Semantic.DeepEqual(status, cronJob.Status) {
		return false, nil
	}
	updated := cronJob.DeepCopy()
	updated.Status = status
	written, err := c.Client.In(cronJob.Namespace).CronJobs().UpdateStatus(ctx, updated)
	if err != nil {
		return false, controller.OrStale(err)
	}
	return true, controller.Await(ctx, controller.Shows(c.cronJobs, written))
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
		ended := slices.DeleteFunc(slices.Clone(jobs), func(job *batchv1.Job) bool {
			return finished(job) != over || job.DeletionTimestamp != nil
		})
		slices.SortFunc(ended, controller.CompareAge)
		old = append(old, ended[:max(0, len(ended)-int(*limit))]...)
	}
	if len(old) == 0 {
		return false, nil
	}
	if err := controller.ConfirmVersion(ctx, c.Client.In(cronJob.Namespace).CronJobs(), cronJob); err != nil {
		return false, err
	}
	err = c.deleteJobs(ctx, cronJob, old)
	return err == nil, err
}

// deleteJobs deletes jobs; their pods are garbage then.
func (c *CronJobController) deleteJobs(ctx context.Context, cronJob *batchv1.CronJob, jobs []*batchv1.Job) error {
	_, err := controller.EachUnlessRefused(ctx, jobs, func(job *batchv1.Job) (controller.Expectation, error) {
		err := c.Client.In(job.Namespace).Jobs().Delete(ctx, job.Name, metav1.DeleteOptions{
			PropagationPolicy: new(metav1.DeletePropagationBackground),
			Preconditions:     metav1.NewUIDPreconditions(string(job.UID))})
		switch {
		case err == nil:
			c.Recorder.Eventf(cronJob, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted job %s", job.Name)
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is gone
			err = nil
		case clientv1.IsRefusal(err):
			c.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "FailedDelete", "Deleted job: %s", err)
		}
		return controller.ShowsDeleted(c.jobs, job), err
	})
	return err
}
