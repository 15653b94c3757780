package batch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/util/schedule"
)

// maxCronJobName leaves room in the names of jobs for the time at which they start.
const maxCronJobName = 52

var cronjobs = generic.Kind[*batchv1.CronJob]{
	Row:      rest.InNamespaces(group, "CronJob", "cronjobs", printers.CronJobs, "cj").In("all"),
	Counted:  true,
	Warnings: warnings.CronJob,
	Default: func(o *batchv1.CronJob) {
		spec := &o.Spec
		spec.ConcurrencyPolicy = cmp.Or(spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
		spec.Suspend = cmp.Or(spec.Suspend, new(false))
		spec.SuccessfulJobsHistoryLimit = cmp.Or(spec.SuccessfulJobsHistoryLimit, new(int32(3)))
		spec.FailedJobsHistoryLimit = cmp.Or(spec.FailedJobsHistoryLimit, new(int32(1)))
		defaultSpec(&spec.JobTemplate.Spec)
	},
	Rules: func(c *check.Errors, now, old *batchv1.CronJob) {
		spec := &now.Spec
		if at := specPath.Child("schedule"); c.Require(at, spec.Schedule) {
			scheduleOf(c, at, spec, old != nil && strings.Contains(old.Spec.Schedule, "TZ"))
		}
		if spec.TimeZone != nil {
			timeZone(c, specPath.Child("timeZone"), *spec.TimeZone)
		}
		at, job := specPath.Child("jobTemplate", "spec"), &spec.JobTemplate.Spec
		jobSpec(c, job, at)
		c.InvalidIf(job.Selector != nil, at.Child("selector"), job.Selector, "`selector` will be auto-generated")
		if check.Is(job.ManualSelector) {
			c.Add(field.NotSupported(at.Child("manualSelector"), job.ManualSelector, []string{"nil", "false"}))
		}
		c.InvalidIf(len(now.Name) > maxCronJobName, field.NewPath("metadata", "name"), now.Name, fmt.Sprintf("must be no more than %d characters", maxCronJobName))
	},
}

// scheduleOf checks when the jobs start. A time zone in it is an old way to say it, which only old objects may have.
func scheduleOf(c *check.Errors, at *field.Path, spec *batchv1.CronJobSpec, mayHaveZone bool) {
	if _, err := schedule.Parse(spec.Schedule); err != nil {
		c.Add(field.Invalid(at, spec.Schedule, err.Error()))
	}
	hasZone := strings.Contains(spec.Schedule, "TZ")
	c.InvalidIf(hasZone && mayHaveZone && spec.TimeZone != nil, at, spec.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
	c.InvalidIf(hasZone && !mayHaveZone, at, spec.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
}

func timeZone(c *check.Errors, at *field.Path, zone string) {
	c.InvalidIf(zone == "" || strings.EqualFold(zone, "Local"), at, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
	_, err := time.LoadLocation(zone)
	c.InvalidIf(err != nil, at, zone, "unknown time zone "+zone)
}
