package podspec

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

const (
	required  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferred = "preferredDuringSchedulingIgnoredDuringExecution"
)

func (c checks) affinity(a *corev1.Affinity, at *field.Path) {
	if a == nil {
		return
	}
	if n := a.NodeAffinity; n != nil {
		c.nodeAffinity(n, at.Child("nodeAffinity"))
	}
	c.podAffinity(a.PodAffinity, at.Child("podAffinity"))
	c.podAffinity((*corev1.PodAffinity)(a.PodAntiAffinity), at.Child("podAntiAffinity"))
}

func (c checks) weight(at *field.Path, weight int32) {
	c.InvalidIf(weight < 1 || weight > 100, at.Child("weight"), weight, "must be in the range 1-100")
}

func (c checks) nodeAffinity(n *corev1.NodeAffinity, at *field.Path) {
	if selector := n.RequiredDuringSchedulingIgnoredDuringExecution; selector != nil {
		NodeSelector(c.Errors, selector, at.Child(required))
	}
	for i, term := range n.PreferredDuringSchedulingIgnoredDuringExecution {
		at := at.Child(preferred).Index(i)
		c.weight(at, term.Weight)
		c.nodeTerm(&term.Preference, false, at.Child("preference"))
	}
}

// NodeSelector checks required terms, and adds the errors.
func NodeSelector(errors *check.Errors, selector *corev1.NodeSelector, at *field.Path) {
	c, at := checks{errors}, at.Child("nodeSelectorTerms")
	c.Some(at, len(selector.NodeSelectorTerms), "must have at least one node selector term")
	for i, term := range selector.NodeSelectorTerms {
		c.nodeTerm(&term, true, at.Index(i))
	}
}

// nodeTerm checks a term. Only the values of required terms must be valid label values.
func (c checks) nodeTerm(term *corev1.NodeSelectorTerm, labelValues bool, at *field.Path) {
	for i, r := range term.MatchExpressions {
		at := at.Child("matchExpressions").Index(i)
		values := at.Child("values")
		switch r.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			c.Some(values, len(r.Values), "must be specified when `operator` is 'In' or 'NotIn'")
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			c.Forbid(len(r.Values) > 0, values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			c.RequiredIf(len(r.Values) != 1, values, "must be specified single value when `operator` is 'Lt' or 'Gt'")
		default:
			c.Add(field.Invalid(at.Child("operator"), r.Operator, "not a valid selector operator"))
		}
		c.LabelName(at.Child("key"), r.Key)
		for j, value := range r.Values {
			if labelValues {
				c.Each(values.Index(j), value, utilvalidation.IsValidLabelValue(value))
			}
		}
	}
	for i, r := range term.MatchFields {
		at := at.Child("matchFields").Index(i)
		if r.Operator != corev1.NodeSelectorOpIn && r.Operator != corev1.NodeSelectorOpNotIn {
			c.Add(field.Invalid(at.Child("operator"), r.Operator, "not a valid selector operator"))
		} else if len(r.Values) != 1 {
			c.Add(field.Required(at.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
		}
		if r.Key != metav1.ObjectNameField {
			c.Add(field.Invalid(at.Child("key"), r.Key, "not a valid field selector key"))
			continue
		}
		for j, value := range r.Values {
			c.Subdomain(at.Child("values").Index(j), value)
		}
	}
}

func (c checks) podAffinity(p *corev1.PodAffinity, at *field.Path) {
	if p == nil {
		return
	}
	for i, term := range p.RequiredDuringSchedulingIgnoredDuringExecution {
		c.podTerm(&term, at.Child(required).Index(i))
	}
	for i, term := range p.PreferredDuringSchedulingIgnoredDuringExecution {
		at := at.Child(preferred).Index(i)
		c.weight(at, term.Weight)
		c.podTerm(&term.PodAffinityTerm, at.Child("podAffinityTerm"))
	}
}

func (c checks) podTerm(term *corev1.PodAffinityTerm, at *field.Path) {
	c.Selector(at.Child("labelSelector"), term.LabelSelector)
	c.Selector(at.Child("namespaceSelector"), term.NamespaceSelector)
	for _, name := range term.Namespaces {
		c.Label(at.Child("namespace"), name)
	}
	c.matchedKeys(term.MatchLabelKeys, term.MismatchLabelKeys, term.LabelSelector, at)
	c.Some(at.Child("topologyKey"), len(term.TopologyKey), "can not be empty")
	c.LabelName(at.Child("topologyKey"), term.TopologyKey)
}

// matchedKeys checks the keys of labels whose values come from the pod.
func (c checks) matchedKeys(match, mismatch []string, selector *metav1.LabelSelector, at *field.Path) {
	names := func(keys []string, at *field.Path) {
		c.Forbid(len(keys) > 0 && selector == nil, at, "must not be specified when labelSelector is not set")
		for i, key := range keys {
			if selector != nil {
				c.LabelName(at.Index(i), key)
			}
		}
	}
	names(match, at.Child("matchLabelKeys"))
	names(mismatch, at.Child("mismatchLabelKeys"))
	if selector != nil {
		indices := map[string]int{} // of the last of equal keys
		for i, key := range match {
			indices[key] = i
		}
		seen := sets.KeySet(selector.MatchLabels)
		for _, r := range selector.MatchExpressions {
			// The server itself may have created the first one from the key.
			if last, there := indices[r.Key]; there && seen.Has(r.Key) {
				c.Add(field.Invalid(at.Index(last), r.Key, "exists in both matchLabelKeys and labelSelector"))
			}
			seen.Insert(r.Key)
		}
	}
	for i, key := range match {
		c.InvalidIf(slices.Contains(mismatch, key), at.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys")
	}
}

func (c checks) topologySpread(constraints []corev1.TopologySpreadConstraint, at *field.Path) {
	type pair struct {
		key  string
		when corev1.UnsatisfiableConstraintAction
	}
	later := map[pair]int{} // how many constraints with the pair follow
	for _, t := range constraints {
		later[pair{t.TopologyKey, t.WhenUnsatisfiable}]++
	}
	for i, t := range constraints {
		at := at.Index(i)
		c.Positive(at.Child("maxSkew"), int64(t.MaxSkew))
		c.Some(at.Child("topologyKey"), len(t.TopologyKey), "can not be empty")
		check.Supported(c.Errors, at.Child("whenUnsatisfiable"), t.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
		own := pair{t.TopologyKey, t.WhenUnsatisfiable}
		if later[own]--; later[own] > 0 {
			c.Add(field.Duplicate(at.Child("{topologyKey, whenUnsatisfiable}"), fmt.Sprintf("{%s, %s}", t.TopologyKey, t.WhenUnsatisfiable)))
		}
		if domains := t.MinDomains; domains != nil {
			c.Positive(at.Child("minDomains"), int64(*domains))
			c.InvalidIf(t.WhenUnsatisfiable != corev1.DoNotSchedule, at.Child("minDomains"), domains,
				fmt.Sprintf("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %s", t.WhenUnsatisfiable))
		}
		check.IfSupported(c.Errors, at.Child("nodeAffinityPolicy"), t.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
		check.IfSupported(c.Errors, at.Child("nodeTaintsPolicy"), t.NodeTaintsPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
		c.matchedKeys(t.MatchLabelKeys, nil, t.LabelSelector, at)
		c.Selector(at.Child("labelSelector"), t.LabelSelector)
	}
}

// Tolerations checks tolerations and adds the errors.
func Tolerations(c *check.Errors, tolerations []corev1.Toleration, at *field.Path) {
	for i, t := range tolerations {
		at := at.Index(i)
		c.Optional(at.Child("key"), t.Key, c.LabelName)
		c.InvalidIf(t.Key == "" && t.Operator != corev1.TolerationOpExists, at.Child("operator"), t.Operator,
			`operator must be Exists when `+"`key`"+` is empty, which means "match all values and all keys"`)
		c.InvalidIf(t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute, at.Child("effect"), t.Effect,
			"effect must be 'NoExecute' when `tolerationSeconds` is set")
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			c.LabelValue(at.Child("operator"), t.Value)
		case corev1.TolerationOpExists:
			c.InvalidIf(t.Value != "", at.Child("operator"), t.Value, "value must be empty when `operator` is 'Exists'")
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			c.Add(field.NotSupported(at.Child("operator"), t.Operator, []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists,
				corev1.TolerationOpLt, corev1.TolerationOpGt}))
		default:
			check.Supported(c, at.Child("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
		}
		if t.Effect != "" {
			c.TaintEffect(at.Child("effect"), t.Effect)
		}
	}
}
