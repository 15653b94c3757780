package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// failureAction returns what the first rule that a failed pod matches says, nothing if there is none.
// The message is why the job fails, if it does.
func failureAction(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) (action batchv1.PodFailurePolicyAction, message string) {
	if policy == nil {
		return "", ""
	}
	for i, rule := range policy.Rules {
		if rule.OnExitCodes != nil {
			if status := exited(pod, rule.OnExitCodes); status != nil {
				return rule.Action, fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d matching %s rule at index %d",
					status.Name, pod.Namespace, pod.Name, status.State.Terminated.ExitCode, rule.Action, i)
			}
			continue
		}
		for _, has := range pod.Status.Conditions {
			if slices.ContainsFunc(rule.OnPodConditions, func(wanted batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
				return wanted.Type == has.Type && wanted.Status == has.Status
			}) {
				return rule.Action, fmt.Sprintf("Pod %s/%s has condition %s matching %s rule at index %d", pod.Namespace, pod.Name, has.Type, rule.Action, i)
			}
		}
	}
	return "", ""
}

// exited returns the first container of a pod that has failed with one of a rule's exit codes.
func exited(pod *corev1.Pod, rule *batchv1.PodFailurePolicyOnExitCodesRequirement) *corev1.ContainerStatus {
	for _, status := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		end := status.State.Terminated
		if end == nil || end.ExitCode == 0 || rule.ContainerName != nil && *rule.ContainerName != status.Name {
			continue
		}
		isListed := slices.Contains(rule.Values, end.ExitCode)
		if rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && isListed || rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpNotIn && !isListed {
			return &status
		}
	}
	return nil
}

// matchSuccessPolicy reports whether the indexes that have succeeded are enough for a rule, and which.
func matchSuccessPolicy(policy *batchv1.SuccessPolicy, completions int, succeeded intervals) (message string, met bool) {
	if policy == nil || len(succeeded) == 0 {
		return "", false
	}
	for i, rule := range policy.Rules {
		count, all := succeeded.total(), -1 // without indexes, all are not asked for
		if rule.SucceededIndexes != nil {
			wanted := parseIntervals(*rule.SucceededIndexes, completions)
			if len(wanted) == 0 {
				continue
			}
			count, all = succeeded.common(wanted), wanted.total()
		}
		if count == all || rule.SucceededCount != nil && count >= int(*rule.SucceededCount) {
			return fmt.Sprintf("Matched rules at index %d", i), true
		}
	}
	return "", false
}
