package validation

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// The checks of new objects and of updates. An update is checked as a new object: its old mistakes are told too.
var (
	ValidateRole, ValidateRoleUpdate = whole(func(c checks, role *rbacv1.Role) {
		c.Metadata(&role.ObjectMeta, true, segmentName)
		c.policyRules(role.Rules, true)
	}, nil)
	ValidateClusterRole, ValidateClusterRoleUpdate = whole(checks.clusterRole, nil)
	ValidateRoleBinding, ValidateRoleBindingUpdate = whole(func(c checks, binding *rbacv1.RoleBinding) {
		c.binding(&binding.ObjectMeta, binding.RoleRef, binding.Subjects, true)
	}, func(binding *rbacv1.RoleBinding) rbacv1.RoleRef { return binding.RoleRef })
	ValidateClusterRoleBinding, ValidateClusterRoleBindingUpdate = whole(func(c checks, binding *rbacv1.ClusterRoleBinding) {
		c.binding(&binding.ObjectMeta, binding.RoleRef, binding.Subjects, false)
	}, func(binding *rbacv1.ClusterRoleBinding) rbacv1.RoleRef { return binding.RoleRef })
)

// whole returns the checks of new objects of a kind, and of updates. A binding, of which roleOf returns the role, keeps it: a user who may change the subjects may
// not be allowed to create a binding of another role.
func whole[T metav1.Object](rules func(c checks, now T), roleOf func(T) rbacv1.RoleRef) (func(T) field.ErrorList, func(now, old T) field.ErrorList) {
	return creates(rules), func(now, old T) field.ErrorList {
		c := newChecks()
		rules(c, now)
		c.Add(metadataUpdate(now, old)...)
		if roleOf != nil {
			c.InvalidIf(roleOf(now) != roleOf(old), field.NewPath("roleRef"), roleOf(now), "cannot change roleRef")
		}
		return c.List
	}
}

func (c checks) clusterRole(role *rbacv1.ClusterRole) {
	c.Metadata(&role.ObjectMeta, false, segmentName)
	c.policyRules(role.Rules, false)
	if role.AggregationRule == nil {
		return
	}
	selectors, at := role.AggregationRule.ClusterRoleSelectors, field.NewPath("aggregationRule", "clusterRoleSelectors")
	c.Some(at, len(selectors), "at least one clusterRoleSelector required if aggregationRule is non-nil")
	for i := range selectors {
		c.Selector(at.Index(i), &selectors[i])
		_, err := metav1.LabelSelectorAsSelector(&selectors[i])
		c.InvalidIf(err != nil, at.Index(i), nil, "invalid label selector.")
	}
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

func (c checks) binding(meta *metav1.ObjectMeta, role rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool) {
	c.Metadata(meta, namespaced, segmentName)
	at, kinds := field.NewPath("roleRef"), []string{"ClusterRole"}
	if namespaced {
		kinds = []string{"Role", "ClusterRole"}
	}
	check.Supported(c.Errors, at.Child("apiGroup"), role.APIGroup, rbacv1.GroupName)
	check.Supported(c.Errors, at.Child("kind"), role.Kind, kinds...)
	c.RequireBy(at.Child("name"), role.Name, func(at *field.Path, name string) { c.Each(at, name, path.IsValidPathSegmentName(name)) })
	for i, subject := range subjects {
		c.subject(field.NewPath("subjects").Index(i), subject, namespaced)
	}
}

func (c checks) subject(at *field.Path, subject rbacv1.Subject, namespaced bool) {
	c.Require(at.Child("name"), subject.Name)
	switch subject.Kind {
	case rbacv1.ServiceAccountKind:
		c.OptionalName(at.Child("name"), subject.Name)
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
