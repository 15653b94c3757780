package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
)

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
