package printers

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

var jobSelectorColumn = wide(text("Selector", batchv1.JobSpec{}.SwaggerDoc()["selector"]))

// Jobs prints *batchv1.Job.
var Jobs = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("Status", "Status of the job."), text("Completions", batchv1.JobStatus{}.SwaggerDoc()["succeeded"]),
		text("Duration", "Time required to complete the job."), ageColumn, wide(containersColumn), wide(imagesColumn), jobSelectorColumn},
	Cells: of(func(o *batchv1.Job, now time.Time) []any {
		names, images := containerCells(&o.Spec.Template)
		return []any{o.Name, jobStatus(o), completions(o), jobDuration(&o.Status, now), since(o.CreationTimestamp.Time, now), names, images,
			metav1.FormatLabelSelector(o.Spec.Selector)}
	}),
}

func jobStatus(o *batchv1.Job) string {
	is := func(kind batchv1.JobConditionType) bool {
		i := slices.IndexFunc(o.Status.Conditions, func(condition batchv1.JobCondition) bool { return condition.Type == kind })
		return i >= 0 && o.Status.Conditions[i].Status == corev1.ConditionTrue
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if is(kind) {
			return string(kind)
		}
	}
	if o.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if is(kind) {
			return string(kind)
		}
	}
	return "Running"
}

func completions(o *batchv1.Job) string {
	switch parallelism := wantedOf(o.Spec.Parallelism); {
	case o.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", o.Status.Succeeded, *o.Spec.Completions)
	case parallelism > 1:
		return fmt.Sprintf("%d/1 of %d", o.Status.Succeeded, parallelism)
	}
	return fmt.Sprintf("%d/1", o.Status.Succeeded)
}

func jobDuration(status *batchv1.JobStatus, now time.Time) string {
	switch {
	case status.StartTime == nil:
		return ""
	case status.CompletionTime == nil:
		return duration.HumanDuration(now.Sub(status.StartTime.Time))
	}
	return duration.HumanDuration(status.CompletionTime.Sub(status.StartTime.Time))
}

var cronJobDoc = batchv1.CronJobSpec{}.SwaggerDoc()

// CronJobs prints *batchv1.CronJob.
var CronJobs = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("Schedule", cronJobDoc["schedule"]), text("Timezone", cronJobDoc["timeZone"]),
		{Name: "Suspend", Type: "boolean", Description: cronJobDoc["suspend"]}, number("Active", batchv1.CronJobStatus{}.SwaggerDoc()["active"]),
		text("Last Schedule", batchv1.CronJobStatus{}.SwaggerDoc()["lastScheduleTime"]), ageColumn, wide(containersColumn), wide(imagesColumn), jobSelectorColumn},
	Cells: of(func(o *batchv1.CronJob, now time.Time) []any {
		last, zone, suspended := "<none>", "<none>", "<unset>"
		if o.Status.LastScheduleTime != nil {
			last = since(o.Status.LastScheduleTime.Time, now)
		}
		if o.Spec.TimeZone != nil {
			zone = *o.Spec.TimeZone
		}
		if o.Spec.Suspend != nil {
			suspended = map[bool]string{true: "True", false: "False"}[*o.Spec.Suspend]
		}
		names, images := containerCells(&o.Spec.JobTemplate.Spec.Template)
		return []any{o.Name, o.Spec.Schedule, zone, suspended, int64(len(o.Status.Active)), last, since(o.CreationTimestamp.Time, now), names, images,
			metav1.FormatLabelSelector(o.Spec.JobTemplate.Spec.Selector)}
	}),
}
