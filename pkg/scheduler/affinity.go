package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// nodeSelector reports whether a node of a name and labels is one that a pod wants.
type nodeSelector func(name string, of labels.Set) bool

// selectorOf returns what a pod wants of its node: its nodeSelector and its required node affinity.
func selectorOf(spec *corev1.PodSpec) nodeSelector {
	simple := labels.SelectorFromSet(spec.NodeSelector)
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return func(_ string, of labels.Set) bool { return simple.Matches(of) }
	}
	var terms []nodeSelector
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		terms = append(terms, termOf(term))
	}
	return func(name string, of labels.Set) bool {
		return simple.Matches(of) && slices.ContainsFunc(terms, func(term nodeSelector) bool { return term(name, of) })
	}
}

func noNode(string, labels.Set) bool { return false }

// termOf returns one term of an affinity. An empty one, or one with a mistake, wants no node.
func termOf(term corev1.NodeSelectorTerm) nodeSelector {
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return noNode
	}
	all := labels.NewSelector()
	for _, expression := range term.MatchExpressions {
		requirement, err := labels.NewRequirement(expression.Key, operators[expression.Operator], expression.Values)
		if err != nil {
			return noNode
		}
		all = all.Add(*requirement)
	}
	return func(name string, of labels.Set) bool {
		return all.Matches(of) && !slices.ContainsFunc(term.MatchFields, func(f corev1.NodeSelectorRequirement) bool { return !matchesField(f, name) })
	}
}

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn:           selection.In,
	corev1.NodeSelectorOpNotIn:        selection.NotIn,
	corev1.NodeSelectorOpExists:       selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt:           selection.GreaterThan,
	corev1.NodeSelectorOpLt:           selection.LessThan,
}

// matchesField matches a node's name, the only field that can be selected.
func matchesField(field corev1.NodeSelectorRequirement, name string) bool {
	if field.Key != "metadata.name" {
		return false
	}
	switch named := slices.Contains(field.Values, name); field.Operator {
	case corev1.NodeSelectorOpIn:
		return named
	case corev1.NodeSelectorOpNotIn:
		return !named
	default:
		return false
	}
}

// tolerated reports whether one of a pod's tolerations is for a taint.
func tolerated(taint corev1.Taint, tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
			return false
		}
		switch t.Operator {
		case corev1.TolerationOpExists:
			return true
		case corev1.TolerationOpEqual, "":
			return t.Key != "" && t.Value == taint.Value
		default:
			return false
		}
	})
}
