package validation

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// ValidateRole checks a new role.
func ValidateRole(role *rbacv1.Role) field.ErrorList {
	c := newChecks()
	c.Metadata(&role.ObjectMeta, true, segmentName)
	c.policyRules(role.Rules, true)
	return c.List
}

// ValidateRoleUpdate checks an update of a role.
func ValidateRoleUpdate(now, old *rbacv1.Role) field.ErrorList {
	return append(ValidateRole(now), metadataUpdate(now, old)...)
}

// ValidateClusterRole checks a new cluster role.
func ValidateClusterRole(role *rbacv1.ClusterRole) field.ErrorList {
	c := newChecks()
	c.Metadata(&role.ObjectMeta, false, segmentName)
	c.policyRules(role.Rules, false)
	if role.AggregationRule == nil {
		return c.List
	}
	selectors, at := role.AggregationRule.ClusterRoleSelectors, field.NewPath("aggregationRule", "clusterRoleSelectors")
	c.Some(at, len(selectors), "at least one clusterRoleSelector required if aggregationRule is non-nil")
	for i := range selectors {
		c.Selector(at.Index(i), &selectors[i])
		_, err := metav1.LabelSelectorAsSelector(&selectors[i])
		c.InvalidIf(err != nil, at.Index(i), nil, "invalid label selector.")
	}
	return c.List
}

// ValidateClusterRoleUpdate checks an update of a cluster role.
func ValidateClusterRoleUpdate(now, old *rbacv1.ClusterRole) field.ErrorList {
	return append(ValidateClusterRole(now), metadataUpdate(now, old)...)
}

func (c checks) policyRules(rules []rbacv1.PolicyRule, namespaced bool) {
	for i, rule := range rules {
		at := field.NewPath("rules").Index(i)
		c.Some(at.Child("verbs"), len(rule.Verbs), "verbs must contain at least one value")
		if urls := rule.NonResourceURLs; len(urls) > 0 {
			c.InvalidIf(namespaced, at.Child("nonResourceURLs"), urls, "namespaced rules cannot apply to non-resource URLs")
			c.InvalidIf(len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0, at.Child("nonResourceURLs"), urls,
				"rules cannot apply to both regular resources and non-resource URLs")
			continue
		}
		c.Some(at.Child("apiGroups"), len(rule.APIGroups), "resource rules must supply at least one api group")
		c.Some(at.Child("resources"), len(rule.Resources), "resource rules must supply at least one resource")
	}
}

// ValidateRoleBinding checks a new role binding.
func ValidateRoleBinding(binding *rbacv1.RoleBinding) field.ErrorList {
	return validateBinding(&binding.ObjectMeta, binding.RoleRef, binding.Subjects, true)
}

// ValidateRoleBindingUpdate checks an update of a role binding.
func ValidateRoleBindingUpdate(now, old *rbacv1.RoleBinding) field.ErrorList {
	return slices.Concat(ValidateRoleBinding(now), metadataUpdate(now, old), sameRole(now.RoleRef, old.RoleRef))
}

// ValidateClusterRoleBinding checks a new cluster role binding.
func ValidateClusterRoleBinding(binding *rbacv1.ClusterRoleBinding) field.ErrorList {
	return validateBinding(&binding.ObjectMeta, binding.RoleRef, binding.Subjects, false)
}

// ValidateClusterRoleBindingUpdate checks an update of a cluster role binding.
func ValidateClusterRoleBindingUpdate(now, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	return slices.Concat(ValidateClusterRoleBinding(now), metadataUpdate(now, old), sameRole(now.RoleRef, old.RoleRef))
}

// sameRole refuses another role: a user who may change the subjects may not be allowed to create
// a binding of that role.
func sameRole(now, old rbacv1.RoleRef) field.ErrorList {
	c := newChecks()
	c.InvalidIf(now != old, field.NewPath("roleRef"), now, "cannot change roleRef")
	return c.List
}

func validateBinding(meta *metav1.ObjectMeta, role rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool) field.ErrorList {
	c := newChecks()
	c.Metadata(meta, namespaced, segmentName)
	at, kinds := field.NewPath("roleRef"), []string{"ClusterRole"}
	if namespaced {
		kinds = []string{"Role", "ClusterRole"}
	}
	check.Supported(c.Errors, at.Child("apiGroup"), role.APIGroup, rbacv1.GroupName)
	check.Supported(c.Errors, at.Child("kind"), role.Kind, kinds...)
	if c.Require(at.Child("name"), role.Name) {
		c.Each(at.Child("name"), role.Name, path.ValidatePathSegmentName(role.Name, false))
	}
	for i, subject := range subjects {
		c.subject(field.NewPath("subjects").Index(i), subject, namespaced)
	}
	return c.List
}

func (c checks) subject(at *field.Path, subject rbacv1.Subject, namespaced bool) {
	c.Require(at.Child("name"), subject.Name)
	switch subject.Kind {
	case rbacv1.ServiceAccountKind:
		if subject.Name != "" {
			c.Each(at.Child("name"), subject.Name, apivalidation.ValidateServiceAccountName(subject.Name, false))
		}
		check.Supported(c.Errors, at.Child("apiGroup"), subject.APIGroup, "")
		if !namespaced {
			c.Require(at.Child("namespace"), subject.Namespace)
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		check.Supported(c.Errors, at.Child("apiGroup"), subject.APIGroup, rbacv1.GroupName)
	default:
		check.Supported(c.Errors, at.Child("kind"), subject.Kind, rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind)
	}
}
