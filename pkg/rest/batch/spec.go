package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
)

const (
	maxIndexed   = 100000 // of the parallelism and of the failed indexes of an indexed job
	maxRules     = 20     // of a policy
	maxExitCodes = 255
)

// jobSpec checks the spec of a job, or the one in a cron job, at a path. It does not check the selector.
func jobSpec(c *check.Errors, spec *batchv1.JobSpec, at *field.Path) {
	check.IfNonnegative(c, at.Child("parallelism"), spec.Parallelism)
	check.IfNonnegative(c, at.Child("completions"), spec.Completions)
	check.IfNonnegative(c, at.Child("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds)
	check.IfNonnegative(c, at.Child("backoffLimit"), spec.BackoffLimit)
	check.IfNonnegative(c, at.Child("ttlSecondsAfterFinished"), spec.TTLSecondsAfterFinished)
	check.IfNonnegative(c, at.Child("backoffLimitPerIndex"), spec.BackoffLimitPerIndex)
	check.IfNonnegative(c, at.Child("maxFailedIndexes"), spec.MaxFailedIndexes)
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
	if policy := spec.SuccessPolicy; policy != nil && !isIndexed(spec) {
		c.Add(field.Invalid(at.Child("successPolicy"), *policy, onlyIndexed))
	} else if policy != nil && spec.Completions != nil {
		successPolicy(c, policy.Rules, *spec.Completions, at.Child("successPolicy", "rules"))
	}
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
	if n := len(spec.PodFailurePolicy.Rules); n > maxRules {
		c.Add(field.TooMany(rules, n, maxRules))
	}
	for i, rule := range spec.PodFailurePolicy.Rules {
		at := rules.Index(i)
		c.InvalidIf(rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil, at.Child("action"), rule.Action,
			"requires the backoffLimitPerIndex to be set")
		if rule.OnExitCodes != nil {
			exitCodes(c, rule.OnExitCodes, &spec.Template.Spec, at.Child("onExitCodes"))
		}
		for j, pattern := range rule.OnPodConditions {
			c.Qualified(at.Child("onPodConditions").Index(j).Child("type"), string(pattern.Type))
		}
		const none = "specifying one of OnExitCodes and OnPodConditions is required"
		c.InvalidIf(rule.OnExitCodes != nil && len(rule.OnPodConditions) > 0, at, field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported")
		c.InvalidIf(rule.OnExitCodes == nil && len(rule.OnPodConditions) == 0, at, field.OmitValueType{}, none)
	}
}

func exitCodes(c *check.Errors, codes *batchv1.PodFailurePolicyOnExitCodesRequirement, pod *corev1.PodSpec, at *field.Path) {
	isNamed := func(container corev1.Container) bool { return container.Name == *codes.ContainerName }
	c.InvalidIf(codes.ContainerName != nil && !slices.ContainsFunc(pod.Containers, isNamed) && !slices.ContainsFunc(pod.InitContainers, isNamed),
		at.Child("containerName"), codes.ContainerName, "must be one of the container or initContainer names in the pod template")
	values := at.Child("values")
	c.InvalidIf(len(codes.Values) == 0, values, codes.Values, "at least one value is required")
	if n := len(codes.Values); n > maxExitCodes {
		c.Add(field.TooMany(values, n, maxExitCodes))
	}
	for i, code := range codes.Values {
		c.InvalidIf(codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && code == 0, values.Index(i), code, "must not be 0 for the In operator")
		c.DuplicateIf(slices.Contains(codes.Values[:i], code), values.Index(i), code)
	}
	c.InvalidIf(!slices.IsSorted(codes.Values), values, codes.Values, "must be ordered")
}

func successPolicy(c *check.Errors, policy []batchv1.SuccessPolicyRule, completions int32, rules *field.Path) {
	c.Some(rules, len(policy), "at least one rules must be specified when the successPolicy is specified")
	if n := len(policy); n > maxRules {
		c.Add(field.TooMany(rules, n, maxRules))
	}
	for i, rule := range policy {
		at := rules.Index(i)
		c.RequiredIf(rule.SucceededCount == nil && rule.SucceededIndexes == nil, at, "at least one of succeededCount or succeededIndexes must be specified")
		check.IfNonnegative(c, at.Child("succeededCount"), rule.SucceededCount)
		c.InvalidIf(rule.SucceededCount != nil && *rule.SucceededCount > completions, at.Child("succeededCount"), rule.SucceededCount,
			fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions))
	}
}
