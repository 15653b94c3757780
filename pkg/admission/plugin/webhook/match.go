package webhook

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/admission"
)

// matches reports whether a webhook wants to know of a change.
func (h *hook) matches(a *admission.Attributes) bool {
	for i := range h.rules {
		if matches(&h.rules[i], a) {
			return h.selects(a)
		}
	}
	return false
}

func matches(rule *admissionregistrationv1.RuleWithOperations, a *admission.Attributes) bool {
	return has(rule.Operations, admissionregistrationv1.OperationType(a.Operation)) && has(rule.APIGroups, a.Resource.Group) &&
		has(rule.APIVersions, a.Resource.Version) && inScope(rule.Scope, a) && hasResource(rule.Resources, a)
}

// handles reports whether a webhook may want to know of an operation.
func (h *hook) handles(operation admission.Operation) bool {
	for i := range h.rules {
		if has(h.rules[i].Operations, admissionregistrationv1.OperationType(operation)) {
			return true
		}
	}
	return false
}

// has reports whether a list has a value, or "*".
func has[Value ~string](list []Value, value Value) bool {
	for _, entry := range list {
		if entry == "*" || entry == value {
			return true
		}
	}
	return false
}

func hasResource(resources []string, a *admission.Attributes) bool {
	for _, entry := range resources {
		resource, sub, _ := strings.Cut(entry, "/")
		if (resource == "*" || resource == a.Resource.Resource) && (sub == "*" || sub == a.Subresource) {
			return true
		}
	}
	return false
}

// inScope reports whether an object has a namespace, or none, as a rule wants it.
func inScope(scope *admissionregistrationv1.ScopeType, a *admission.Attributes) bool {
	switch {
	case scope == nil || *scope == admissionregistrationv1.AllScopes:
		return true
	case *scope == admissionregistrationv1.NamespacedScope:
		return a.Namespace != ""
	}
	return a.Namespace == ""
}

// selects reports whether the labels of the namespace, and those of the new or the old object, are
// those that a webhook wants. A namespace has only the label of its name.
func (h *hook) selects(a *admission.Attributes) bool {
	if a.Namespace != "" && !h.namespaces.Matches(labels.Set{corev1.LabelMetadataName: a.Namespace}) {
		return false
	}
	return h.objects.Empty() || a.Object != nil && h.objects.Matches(labels.Set(a.Object.GetLabels())) ||
		a.OldObject != nil && h.objects.Matches(labels.Set(a.OldObject.GetLabels()))
}
