package quota

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api/v1/defaults"
)

// scopesOf returns the scopes of a quota, in both forms.
func scopesOf(quota *corev1.ResourceQuota) (all []corev1.ScopedResourceSelectorRequirement) {
	for _, scope := range quota.Spec.Scopes {
		all = append(all, corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists})
	}
	if selector := quota.Spec.ScopeSelector; selector != nil {
		all = append(all, selector.MatchExpressions...)
	}
	return all
}

// isIn reports whether a pod is in a scope. No pod is in an unknown one.
func isIn(pod *corev1.Pod, scope corev1.ScopedResourceSelectorRequirement) bool {
	isTerminating := pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return isTerminating
	case corev1.ResourceQuotaScopeNotTerminating:
		return !isTerminating
	case corev1.ResourceQuotaScopeBestEffort:
		return defaults.QOSClass(pod) == corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopeNotBestEffort:
		return defaults.QOSClass(pod) != corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopePriorityClass:
		return selects(scope, pod.Spec.PriorityClassName)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return looksElsewhere(pod.Spec.Affinity)
	}
	return false
}

// selects reports whether a scope selects a value, "" for none.
func selects(scope corev1.ScopedResourceSelectorRequirement, value string) bool {
	switch scope.Operator {
	case corev1.ScopeSelectorOpExists:
		return value != ""
	case corev1.ScopeSelectorOpDoesNotExist:
		return value == ""
	case corev1.ScopeSelectorOpIn:
		return value != "" && slices.Contains(scope.Values, value)
	case corev1.ScopeSelectorOpNotIn:
		return value == "" || !slices.Contains(scope.Values, value)
	}
	return false
}

// looksElsewhere reports whether a pod's affinity depends on pods of other namespaces.
func looksElsewhere(affinity *corev1.Affinity) bool {
	looks := func(term corev1.PodAffinityTerm) bool {
		return len(term.Namespaces) > 0 || term.NamespaceSelector != nil
	}
	affinity = cmp.Or(affinity, &corev1.Affinity{})
	for _, to := range []*corev1.PodAffinity{affinity.PodAffinity, (*corev1.PodAffinity)(affinity.PodAntiAffinity)} {
		to = cmp.Or(to, &corev1.PodAffinity{})
		preferred := func(one corev1.WeightedPodAffinityTerm) bool { return looks(one.PodAffinityTerm) }
		if slices.ContainsFunc(to.RequiredDuringSchedulingIgnoredDuringExecution, looks) ||
			slices.ContainsFunc(to.PreferredDuringSchedulingIgnoredDuringExecution, preferred) {
			return true
		}
	}
	return false
}
