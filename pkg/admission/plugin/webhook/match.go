package webhook

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/admission"
)

// matches reports whether a webhook must be called for a change.
func (h *hook) matches(a *admission.Attributes) bool {
	matched := slices.ContainsFunc(h.rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return has(rule.Operations, admissionregistrationv1.OperationType(a.Operation)) && has(rule.APIGroups, a.Resource.Group) &&
			has(rule.APIVersions, a.Resource.Version) && inScope(rule.Scope, a) && hasResource(rule.Resources, a)
	})
	return matched && h.selects(a)
}

// handles reports whether a rule of a webhook has an operation.
func (h *hook) handles(operation admission.Operation) bool {
	return slices.ContainsFunc(h.rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return has(rule.Operations, admissionregistrationv1.OperationType(operation))
	})
}

// has reports whether a list has a value, or "*".
func has[Value ~string](list []Value, value Value) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

func hasResource(resources []string, a *admission.Attributes) bool {
	return slices.ContainsFunc(resources, func(entry string) bool {
		resource, sub, _ := strings.Cut(entry, "/")
		return (resource == "*" || resource == a.Resource.Resource) && (sub == "*" || sub == a.Subresource)
	})
}

func inScope(scope *admissionregistrationv1.ScopeType, a *admission.Attributes) bool {
	switch {
	case scope == nil || *scope == admissionregistrationv1.AllScopes:
		return true
	case *scope == admissionregistrationv1.NamespacedScope:
		return a.Namespace != ""
	}
	return a.Namespace == ""
}

// selects reports whether the selectors of a webhook match the labels of the namespace, and those of
// the new or the old object. A namespace has only the label of its name.
func (h *hook) selects(a *admission.Attributes) bool {
	if a.Namespace != "" && !h.namespaces.Matches(labels.Set{corev1.LabelMetadataName: a.Namespace}) {
		return false
	}
	return h.objects.Empty() || a.Object != nil && h.objects.Matches(labels.Set(a.Object.GetLabels())) ||
		a.OldObject != nil && h.objects.Matches(labels.Set(a.OldObject.GetLabels()))
}
