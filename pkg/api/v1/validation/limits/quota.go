package limits

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// ResourceQuota checks the spec of a quota, whose scopes stay. Old is nil for a new one.
func ResourceQuota(c *check.Errors, now, old *corev1.ResourceQuota) {
	spec, at := &now.Spec, field.NewPath("spec")
	quantities(c, spec.Hard, at.Child("hard"))
	checks{c}.scopes(spec, at.Child("scopes"))
	if spec.ScopeSelector != nil {
		checks{c}.scopeSelector(spec, at.Child("scopeSelector", "matchExpressions"))
	}
	stay := old == nil || sets.New(spec.Scopes...).Equal(sets.New(old.Spec.Scopes...))
	c.InvalidIf(!stay, at.Child("scopes"), spec.Scopes, apivalidation.FieldImmutableErrorMsg)
}

// ResourceQuotaStatus checks the status of a quota.
func ResourceQuotaStatus(c *check.Errors, now, _ *corev1.ResourceQuota) {
	quantities(c, now.Status.Hard, field.NewPath("status", "hard"))
	quantities(c, now.Status.Used, field.NewPath("status", "used"))
}

func quantities(c *check.Errors, list corev1.ResourceList, at *field.Path) {
	for _, name := range check.SortedKeys(list) {
		c.ResourceName(at.Key(string(name)), name)
		c.InvalidIf(!strings.Contains(string(name), "/") && !check.IsQuotaResource(name), at.Key(string(name)), name, "must be a standard resource for quota")
		c.Quantity(name, list[name], at.Key(string(name)))
	}
}

// quotaScopes has the scopes, with the standard resources that they apply to.
var quotaScopes = map[corev1.ResourceQuotaScope][]corev1.ResourceName{
	corev1.ResourceQuotaScopeTerminating:               ofPods,
	corev1.ResourceQuotaScopeNotTerminating:            ofPods,
	corev1.ResourceQuotaScopeBestEffort:                ofPods[:1],
	corev1.ResourceQuotaScopeNotBestEffort:             ofPods,
	corev1.ResourceQuotaScopePriorityClass:             ofPods,
	corev1.ResourceQuotaScopeCrossNamespacePodAffinity: ofPods,
	corev1.ResourceQuotaScopeVolumeAttributesClass:     {corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage},
}

var ofPods = []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory}

// scopeApplies adds an error for each standard resource of a quota that a scope does not apply to. Today's server
// accepts all of an unknown scope.
func (c checks) scopeApplies(scope corev1.ResourceQuotaScope, hard corev1.ResourceList, at *field.Path, value any) {
	resources, isKnown := quotaScopes[scope]
	for _, name := range check.SortedKeys(hard) {
		c.InvalidIf(isKnown && check.IsQuotaResource(name) && !slices.Contains(resources, name), at, value, "unsupported scope applied to resource")
	}
}

func (c checks) conflictingScopes(seen sets.Set[corev1.ResourceQuotaScope], at *field.Path, value any) {
	c.InvalidIf(seen.HasAll(corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort), at, value, "conflicting scopes")
	c.InvalidIf(seen.HasAll(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating), at, value, "conflicting scopes")
}

func (c checks) scopes(spec *corev1.ResourceQuotaSpec, at *field.Path) {
	for _, scope := range spec.Scopes {
		c.InvalidIf(quotaScopes[scope] == nil, at, spec.Scopes, "unsupported scope")
		c.scopeApplies(scope, spec.Hard, at, spec.Scopes)
	}
	c.conflictingScopes(sets.New(spec.Scopes...), at, spec.Scopes)
}

func (c checks) scopeSelector(spec *corev1.ResourceQuotaSpec, at *field.Path) {
	seen := sets.New[corev1.ResourceQuotaScope]()
	for _, r := range spec.ScopeSelector.MatchExpressions {
		seen.Insert(r.ScopeName)
		c.InvalidIf(quotaScopes[r.ScopeName] == nil, at.Child("scopeName"), r.ScopeName, "unsupported scope")
		c.scopeApplies(r.ScopeName, spec.Hard, at, spec.ScopeSelector)
		hasValues := r.ScopeName == corev1.ResourceQuotaScopePriorityClass || r.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass
		c.InvalidIf(quotaScopes[r.ScopeName] != nil && !hasValues && r.Operator != corev1.ScopeSelectorOpExists, at.Child("operator"), r.Operator,
			"must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity")
		switch r.Operator {
		case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
			c.Some(at.Child("values"), len(r.Values), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
		case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
			c.InvalidIf(len(r.Values) > 0, at.Child("values"), r.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
		default:
			c.InvalidIf(true, at.Child("operator"), r.Operator, "not a valid selector operator")
		}
	}
	c.conflictingScopes(seen, at, spec.Scopes)
}
