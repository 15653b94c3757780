package cronjob

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/util/schedule"
)

const (
	// lateness is added to the next time, since clocks differ.
	lateness = 100 * time.Millisecond
	// manyMissed is how many missed times are worth a warning.
	manyMissed = 100
)

// start creates the job of the last time, if there is none.
func (c *CronJobController) start(ctx context.Context, cronJob *batchv1.CronJob, jobs []*batchv1.Job) (acted bool, err error) {
	times, ok := c.scheduleOf(cronJob)
	if !ok {
		return false, nil
	}
	now := time.Now()
	last, next, missed := lastAndNext(times, beginning(cronJob, now), now)
	c.Queue.AddAfter(cache.Key(cronJob), next.Sub(now)+lateness)
	if missed == 0 {
		return false, nil
	}
	if missed > manyMissed {
		c.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "TooManyMissedTimes",
			"too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	if len(cronJob.Status.Active) > 0 && cronJob.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent {
		c.Recorder.Eventf(cronJob, corev1.EventTypeNormal, "JobAlreadyActive",
			"Not starting job because prior execution is running and concurrency policy is Forbid")
		return false, nil
	}
	// Its status says for which times there were jobs.
	if err := controller.ConfirmVersion(ctx, c.Client.In(cronJob.Namespace).CronJobs(), cronJob); err != nil {
		return false, err
	}
	if len(cronJob.Status.Active) > 0 && cronJob.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		return c.replace(ctx, cronJob)
	}
	return c.create(ctx, cronJob, jobs, last)
}

// scheduleOf returns the times of a cron job. If they make no sense, it says so.
func (c *CronJobController) scheduleOf(cronJob *batchv1.CronJob) (times cron.Schedule, ok bool) {
	warn := func(reason, message string, args ...any) {
		c.Recorder.Eventf(cronJob, corev1.EventTypeWarning, reason, message, args...)
	}
	text := cronJob.Spec.Schedule
	if zone := cronJob.Spec.TimeZone; strings.Contains(text, "TZ") {
		warn("UnsupportedSchedule", "CRON_TZ or TZ used in schedule %q is not officially supported, "+
			"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details", text)
	} else if zone != nil {
		text = "TZ=" + *zone + " " + text
	}
	times, err := schedule.Parse(text)
	if err != nil {
		warn("UnparseableSchedule", "unparseable schedule: %q : %s", text, err)
		return nil, false
	}
	if times.Next(time.Now()).IsZero() { // like February 31
		warn("InvalidSchedule", "invalid schedule: %s : it has no time within five years", text)
		return nil, false
	}
	return times, true
}

// beginning returns the time after which a cron job may start a job late.
func beginning(cronJob *batchv1.CronJob, now time.Time) time.Time {
	after := cronJob.CreationTimestamp.Time
	if last := cronJob.Status.LastScheduleTime; last != nil {
		after = last.Time
	}
	if seconds := cronJob.Spec.StartingDeadlineSeconds; seconds != nil {
		if deadline := now.Add(-time.Duration(*seconds) * time.Second); deadline.After(after) {
			return deadline
		}
	}
	return after
}

// lastAndNext returns the last time between two others, and the first one after them. It also returns
// how many there were, or that they were more than are worth a warning.
func lastAndNext(times cron.Schedule, after, now time.Time) (last, next time.Time, missed int) {
	for next = times.Next(after); !next.After(now); next = times.Next(last) {
		last = next
		if missed++; missed == manyMissed+1 { // there may be very many
			last = skip(times, last, now)
		}
	}
	return last, next, missed
}

// skip returns a time between two others that is near to the second one. The first one is a time itself.
func skip(times cron.Schedule, first, now time.Time) time.Time {
	if every, isEvery := times.(cron.ConstantDelaySchedule); isEvery {
		return first.Add(now.Sub(first) / every.Delay * every.Delay)
	}
	for back := time.Minute; ; back *= 2 {
		if at := times.Next(now.Add(-back)); !at.After(now) {
			return at
		}
	}
}

// replace deletes the jobs that still run.
func (c *CronJobController) replace(ctx context.Context, cronJob *batchv1.CronJob) (acted bool, err error) {
	var running []*batchv1.Job
	for _, active := range cronJob.Status.Active {
		meta := metav1.ObjectMeta{Namespace: cronJob.Namespace, Name: active.Name, UID: active.UID}
		running = append(running, &batchv1.Job{ObjectMeta: meta})
	}
	if err := c.deleteJobs(ctx, cronJob, running); err != nil {
		return false, err
	}
	status := cronJob.Status.DeepCopy()
	status.Active = nil
	return c.updateStatus(ctx, cronJob, *status)
}

// create creates the job of a time, and records it.
func (c *CronJobController) create(
	ctx context.Context, cronJob *batchv1.CronJob, jobs []*batchv1.Job, at time.Time,
) (acted bool, err error) {
	client := c.Client.In(cronJob.Namespace).Jobs()
	job, err := client.Create(ctx, newJob(cronJob, at))
	switch {
	case err == nil:
		c.Recorder.Eventf(cronJob, corev1.EventTypeNormal, "SuccessfulCreate", "Created job %s", job.Name)
	case apierrors.IsAlreadyExists(err): // an answer was lost, or another manager was faster
		if job, err = client.Get(ctx, jobName(cronJob, at)); err == nil && !metav1.IsControlledBy(job, cronJob) {
			c.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "FailedCreate",
				"Error creating job: the job %s exists, and is not of this cron job", job.Name)
			return false, nil // the next time may have a free name
		}
	case clientv1.IsRefusal(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		c.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "FailedCreate", "Error creating job: %s", err)
	}
	if err != nil {
		return false, controller.OrStale(err)
	}
	if err := controller.Await(ctx, controller.Shows(c.jobs, job)); err != nil {
		return false, err
	}
	return c.observe(ctx, cronJob, append(jobs, job))
}

// jobName returns the name of the job of a time. It has the minutes since 1970.
func jobName(cronJob *batchv1.CronJob, at time.Time) string {
	return fmt.Sprintf("%s-%d", cronJob.Name, at.Unix()/60)
}

// timeOf returns the time whose job a job is, nil if somebody else made it.
func timeOf(cronJob *batchv1.CronJob, job *batchv1.Job) *metav1.Time {
	at, err := time.Parse(time.RFC3339, job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	if err != nil || job.Name != jobName(cronJob, at) {
		return nil
	}
	return &metav1.Time{Time: at.UTC()}
}

func referenceTo(job *batchv1.Job) corev1.ObjectReference {
	return corev1.ObjectReference{Kind: "Job", APIVersion: batchv1.SchemeGroupVersion.String(),
		Namespace: job.Namespace, Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion}
}

// newJob returns the job of a time.
func newJob(cronJob *batchv1.CronJob, at time.Time) *batchv1.Job {
	template, zone := cronJob.Spec.JobTemplate.DeepCopy(), time.UTC
	if cronJob.Spec.TimeZone != nil {
		zone, _ = time.LoadLocation(*cronJob.Spec.TimeZone) // the schedule was read with it
	}
	job := &batchv1.Job{Spec: template.Spec}
	job.Namespace, job.Name = cronJob.Namespace, jobName(cronJob, at)
	job.Labels, job.Annotations = template.Labels, template.Annotations
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, controllerKind)}
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, batchv1.CronJobScheduledTimestampAnnotation, at.In(zone).Format(time.RFC3339))
	return job
}
