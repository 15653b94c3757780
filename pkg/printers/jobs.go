package printers

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Jobs prints *batchv1.Job.
var Jobs = table[batchv1.Job](name, with(text("Status", "", "Status of the job."), jobStatus), with(text("Completions", "status.succeeded"), completions),
	with(text("Duration", "status", "Time required to complete the job."), jobDuration), age,
	wide(namesOf("spec.template")), wide(imagesOf("spec.template")), wide(with(text("Selector", "spec.selector"), metav1.FormatLabelSelector)))

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

func jobDuration(status *batchv1.JobStatus) any {
	switch {
	case status.StartTime == nil:
		return ""
	case status.CompletionTime == nil:
		return Ago{Then: status.StartTime.Time}
	}
	return duration.HumanDuration(status.CompletionTime.Sub(status.StartTime.Time))
}

const jobTemplate = "spec.jobTemplate.spec."

// CronJobs prints *batchv1.CronJob.
var CronJobs = table[batchv1.CronJob](name, text("Schedule", "spec.schedule"), text("Timezone", "spec.timeZone").or("<none>"),
	with(truth("Suspend", "spec.suspend"), func(suspend *bool) string {
		if suspend == nil {
			return "<unset>"
		}
		return map[bool]string{true: "True", false: "False"}[*suspend]
	}),
	count(number("Active", "status.active")),
	with(text("Last Schedule", "status.lastScheduleTime"), func(last *metav1.Time) any {
		if last == nil {
			return "<none>"
		}
		return since(last.Time)
	}), age,
	wide(namesOf(jobTemplate+"template")), wide(imagesOf(jobTemplate+"template")), wide(with(text("Selector", jobTemplate+"selector"), metav1.FormatLabelSelector)))
