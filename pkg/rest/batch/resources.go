// Package batch has the kinds whose pods end.
package batch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/util/schedule"
)

var (
	group    = batchv1.SchemeGroupVersion
	specPath = field.NewPath("spec")
)

// Resources returns the table of the group.
func Resources(b rest.Base) []rest.Resource {
	return slices.Concat(cronjobs.Rows(b), jobs.Rows(b))
}

// maxCronJobName leaves room in the names of jobs for the time at which they start.
const maxCronJobName = 52

var cronjobs = generic.Resource[*batchv1.CronJob]{
	Row:           rest.InNamespaces(group, "CronJob", "cronjobs", printers.CronJobs, "cj").In("all"),
	HasGeneration: true,
	Warnings:      warnings.CronJob,
	Default: func(o *batchv1.CronJob) {
		spec := &o.Spec
		spec.ConcurrencyPolicy = cmp.Or(spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
		spec.Suspend = cmp.Or(spec.Suspend, new(false))
		spec.SuccessfulJobsHistoryLimit = cmp.Or(spec.SuccessfulJobsHistoryLimit, new(int32(3)))
		spec.FailedJobsHistoryLimit = cmp.Or(spec.FailedJobsHistoryLimit, new(int32(1)))
		defaultSpec(&spec.JobTemplate.Spec)
	},
	Validate: func(c *check.Errors, now, old *batchv1.CronJob) {
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

// maxIndexed bounds the parallelism and the failed indexes of an indexed job.
const maxIndexed = 100_000

// jobSpec checks the spec of a job, or the one in a cron job, at a path. It does not check the selector.
func jobSpec(c *check.Errors, spec *batchv1.JobSpec, at *field.Path) {
	c.RequiredIf(spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil, at.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
	if spec.ManagedBy != nil {
		c.Add(utilvalidation.IsDomainPrefixedPath(at.Child("managedBy"), *spec.ManagedBy)...)
	}
	const onlyIndexed = "requires indexed completion mode"
	if isIndexed(spec) {
		c.RequiredIf(spec.Completions == nil, at.Child("completions"), "when completion mode is Indexed")
		c.InvalidIf(spec.Parallelism != nil && *spec.Parallelism > maxIndexed, at.Child("parallelism"), spec.Parallelism,
			fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxIndexed))
		failed := spec.MaxFailedIndexes
		c.InvalidIf(failed != nil && spec.Completions != nil && *failed > *spec.Completions, at.Child("maxFailedIndexes"), failed, "must be less than or equal to completions")
		c.InvalidIf(failed != nil && *failed > maxIndexed, at.Child("maxFailedIndexes"), failed, fmt.Sprintf("must be less than or equal to %d", maxIndexed))
	} else {
		c.InvalidIf(spec.BackoffLimitPerIndex != nil, at.Child("backoffLimitPerIndex"), spec.BackoffLimitPerIndex, onlyIndexed)
		c.InvalidIf(spec.MaxFailedIndexes != nil, at.Child("maxFailedIndexes"), spec.MaxFailedIndexes, onlyIndexed)
	}
	if spec.PodFailurePolicy != nil {
		failurePolicy(c, spec, at.Child("podFailurePolicy", "rules"))
		check.IfSupported(c, at.Child("podReplacementPolicy"), spec.PodReplacementPolicy, batchv1.Failed)
	}
	c.InvalidIf(spec.SuccessPolicy != nil && !isIndexed(spec), at.Child("successPolicy"), spec.SuccessPolicy, onlyIndexed)
	at = at.Child("template")
	validation.PodTemplate(c, &spec.Template, at)
	at = at.Child("spec", "restartPolicy")
	switch restart := spec.Template.Spec.RestartPolicy; {
	case restart == corev1.RestartPolicyAlways:
		c.Add(field.Required(at, `valid values: "OnFailure", "Never"`))
	case check.Supported(c, at, restart, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever):
		c.InvalidIf(spec.PodFailurePolicy != nil && restart != corev1.RestartPolicyNever, at, restart, `only "Never" is supported when podFailurePolicy is specified`)
	}
}

func failurePolicy(c *check.Errors, spec *batchv1.JobSpec, rules *field.Path) {
	for i, rule := range spec.PodFailurePolicy.Rules {
		at := rules.Index(i)
		c.InvalidIf(rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil, at.Child("action"), rule.Action,
			"requires the backoffLimitPerIndex to be set")
		c.InvalidIf(rule.OnExitCodes != nil && len(rule.OnPodConditions) > 0, at, field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported")
		c.InvalidIf(rule.OnExitCodes == nil && len(rule.OnPodConditions) == 0, at, field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required")
	}
}
