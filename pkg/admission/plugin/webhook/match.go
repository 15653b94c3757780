package webhook

import (
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	"kube2014/pkg/rest"
)

// wants reports whether the rules of a webhook, and its selector of objects, match a change.
func (h *hook) wants(a *admission.Attributes) bool {
	return slices.ContainsFunc(h.rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return has(rule.Operations, admissionregistrationv1.OperationType(a.Operation)) && has(rule.APIGroups, a.Resource.Group) &&
			has(rule.APIVersions, a.Resource.Version) && inScope(rule.Scope, a) && hasResource(rule.Resources, a)
	}) && h.selects(a)
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

// selects reports whether the labels of the new or the old object match.
func (h *hook) selects(a *admission.Attributes) bool {
	return h.objects.Empty() || a.Object != nil && h.objects.Matches(labels.Set(a.Object.GetLabels())) ||
		a.OldObject != nil && h.objects.Matches(labels.Set(a.OldObject.GetLabels()))
}

// isNamespace reports whether a change is one of a namespace itself.
func isNamespace(a *admission.Attributes) bool {
	return a.Resource.GroupResource() == corev1.Resource("namespaces")
}

// selectsNamespace reports whether the labels of the namespace match: those of the object, if that is one.
func (p *common) selectsNamespace(h *hook, a *admission.Attributes) (bool, error) {
	switch {
	case h.namespaces.Empty():
		return true, nil
	case isNamespace(a) && a.Object != nil:
		return h.namespaces.Matches(labels.Set(a.Object.GetLabels())), nil
	case isNamespace(a) && a.OldObject != nil:
		return h.namespaces.Matches(labels.Set(a.OldObject.GetLabels())), nil
	case a.Namespace == "":
		return true, nil
	}
	of, err := p.labelsOf(a.Namespace)
	return err == nil && h.namespaces.Matches(of), err
}

// labelsOf returns the labels of a namespace. One that is not in the cache may have just been made: the store is asked. A
// namespace that does not exist has only the label of its name.
func (p *common) labelsOf(namespace string) (labels.Set, error) {
	of := labels.Set{}
	if p.objects != nil {
		key := api.Key{Kind: "namespaces", ID: namespace}
		stored, err := p.objects.Cached().Get(key)
		if err != nil {
			stored, err = p.objects.Get(key)
		}
		switch {
		case err == nil:
			maps.Copy(of, stored.GetLabels())
		case api.KindOf(err) != api.NotFound:
			return nil, rest.StatusError(err, corev1.Resource("namespaces"), namespace)
		}
	}
	of[corev1.LabelMetadataName] = namespace
	return of, nil
}
