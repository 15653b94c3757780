package cronjob

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/schedule"
)

const (
	// lateness is added to the next time, since clocks differ.
	lateness = 100 * time.Millisecond
	// manyMissed is how many missed times are worth a warning.
	manyMissed = 100
)

// start creates the job of the last time, if there is none.
func (c *CronJobController) start(ctx context.Context, cronJob *batchv1.CronJob) (acted bool, err error) {
	times, ok := c.scheduleOf(cronJob)
	if !ok {
		return false, nil
	}
	now := time.Now()
	last, next := lastAndNext(cronJob, times, now)
	c.queue.AddAfter(cache.Key(cronJob), next.Sub(now)+lateness)
	if last.IsZero() {
		return false, nil
	}
	if missed(times, beginning(cronJob, now), now) > manyMissed {
		c.config.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "TooManyMissedTimes",
			"too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	if len(cronJob.Status.Active) > 0 && cronJob.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent {
		c.config.Recorder.Eventf(cronJob, corev1.EventTypeNormal, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
		return false, nil
	}
	if err := c.confirm(ctx, cronJob); err != nil {
		return false, err
	}
	if len(cronJob.Status.Active) > 0 && cronJob.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		return c.replace(ctx, cronJob)
	}
	return c.create(ctx, cronJob, last)
}

// scheduleOf returns the times of a cron job. If they make no sense, it says so.
func (c *CronJobController) scheduleOf(cronJob *batchv1.CronJob) (times cron.Schedule, ok bool) {
	text := cronJob.Spec.Schedule
	if strings.Contains(text, "TZ") {
		c.config.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "UnsupportedSchedule",
			"CRON_TZ or TZ used in schedule %q is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details", text)
	} else if zone := cronJob.Spec.TimeZone; zone != nil {
		if _, err := time.LoadLocation(*zone); err != nil {
			c.config.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "UnknownTimeZone", "invalid timeZone: %q: %s", *zone, err)
			return nil, false
		}
		text = "TZ=" + *zone + " " + text
	}
	times, err := schedule.Parse(text)
	if err != nil {
		c.config.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "UnparseableSchedule", "unparseable schedule: %q : %s", cronJob.Spec.Schedule, err)
		return nil, false
	}
	if times.Next(time.Now()).IsZero() { // like February 31
		c.config.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "InvalidSchedule", "invalid schedule: %s : it has no time within five years", cronJob.Spec.Schedule)
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

// lastAndNext returns the last time of a cron job, if that is not too long ago, and the next one.
func lastAndNext(cronJob *batchv1.CronJob, times cron.Schedule, now time.Time) (last, next time.Time) {
	after := beginning(cronJob, now)
	next = times.Next(after)
	if every, isEvery := times.(cron.ConstantDelaySchedule); isEvery && next.Before(now) {
		next = next.Add(now.Sub(next) / every.Delay * every.Delay)
	} else if missed(times, after, now) > manyMissed {
		// Times are looked for backwards, since there may be very many.
		for back := time.Minute; ; back *= 2 {
			if next = times.Next(now.Add(-back)); !next.After(now) {
				break
			}
		}
	}
	for !next.After(now) {
		last, next = next, times.Next(next)
	}
	return last, next
}

// missed returns how many times have passed, at most one more than are worth a warning.
func missed(times cron.Schedule, after, now time.Time) (count int) {
	for next := times.Next(after); !next.After(now) && count <= manyMissed; next = times.Next(next) {
		count++
	}
	return count
}

// replace deletes the jobs that still run.
func (c *CronJobController) replace(ctx context.Context, cronJob *batchv1.CronJob) (acted bool, err error) {
	var running []*batchv1.Job
	for _, active := range cronJob.Status.Active {
		running = append(running, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: cronJob.Namespace, Name: active.Name, UID: active.UID}})
	}
	if err := c.deleteJobs(ctx, cronJob, running); err != nil {
		return false, err
	}
	status := cronJob.Status.DeepCopy()
	status.Active = nil
	return c.updateStatus(ctx, cronJob, *status)
}

// create creates the job of a time, and records it.
func (c *CronJobController) create(ctx context.Context, cronJob *batchv1.CronJob, at time.Time) (acted bool, err error) {
	jobs := c.config.Client.In(cronJob.Namespace).Jobs()
	job, err := jobs.Create(ctx, newJob(cronJob, at))
	isTaken := apierrors.IsAlreadyExists(err)
	if isTaken { // an answer was lost, or another manager was faster
		if job, err = jobs.Get(ctx, jobName(cronJob, at)); apierrors.IsNotFound(err) {
			return false, errStale
		}
		if err == nil && !metav1.IsControlledBy(job, cronJob) {
			c.config.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "FailedCreate", "Error creating job: the job %s exists, and is not of this cron job", job.Name)
			return false, nil // the next time may have a free name
		}
	}
	switch {
	case err != nil:
		if clientv1.IsRefusal(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			c.config.Recorder.Eventf(cronJob, corev1.EventTypeWarning, "FailedCreate", "Error creating job: %s", err)
		}
		return false, err
	case !isTaken:
		c.config.Recorder.Eventf(cronJob, corev1.EventTypeNormal, "SuccessfulCreate", "Created job %s", job.Name)
	}
	if err := cache.Await(ctx, c.jobs.Shows(job)); err != nil {
		return false, err
	}
	status := cronJob.Status.DeepCopy()
	status.LastScheduleTime = new(metav1.NewTime(at))
	if finished(job) == "" {
		status.Active = append(status.Active, referenceTo(job))
	}
	return c.updateStatus(ctx, cronJob, *status)
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
	template := cronJob.Spec.JobTemplate.DeepCopy()
	annotations := maps.Clone(template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	zone := time.UTC
	if cronJob.Spec.TimeZone != nil {
		zone, _ = time.LoadLocation(*cronJob.Spec.TimeZone) // the schedule was read with it
	}
	annotations[batchv1.CronJobScheduledTimestampAnnotation] = at.In(zone).Format(time.RFC3339)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: cronJob.Namespace, Name: jobName(cronJob, at), Labels: template.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, batchv1.SchemeGroupVersion.WithKind("CronJob"))}},
		Spec: template.Spec,
	}
}

// compareStart is negative if a was started before b.
func compareStart(a, b *batchv1.Job) int {
	started := func(job *batchv1.Job) time.Time {
		if job.Status.StartTime == nil {
			return job.CreationTimestamp.Time
		}
		return job.Status.StartTime.Time
	}
	return cmp.Or(started(a).Compare(started(b)), strings.Compare(a.Name, b.Name))
}
