package warnings

import (
	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deprecatedLabels are those of nodes, in order, with what to do instead.
var deprecatedLabels = [...]struct{ key, text string }{
	{"app.kubernetes.io/created-by", "deprecated since v1.9"},
	{"beta.kubernetes.io/arch", `deprecated since v1.14; use "kubernetes.io/arch" instead`},
	{"beta.kubernetes.io/instance-type", `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`},
	{"beta.kubernetes.io/os", `deprecated since v1.14; use "kubernetes.io/os" instead`},
	{"failure-domain.beta.kubernetes.io/region", `deprecated since v1.17; use "topology.kubernetes.io/region" instead`},
	{"failure-domain.beta.kubernetes.io/zone", `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`},
	{"node-role.kubernetes.io/master", `use "node-role.kubernetes.io/control-plane" instead`},
	{"scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"},
}

// key adds a warning if a field is the name of a deprecated label.
func (l *list) key(at *field.Path, key string) {
	for _, label := range deprecatedLabels {
		if label.key == key {
			l.at(at, "%s is %s", key, label.text)
		}
	}
}

// labels adds a warning for each deprecated label of a map.
func (l *list) labels(selector map[string]string, at func(key string) *field.Path) {
	for _, label := range deprecatedLabels {
		if _, has := selector[label.key]; has {
			l.at(at(label.key), "%s", label.text)
		}
	}
}

// term looks at the nodes that a term selects. Values are checked if no rule does.
func (l *list) term(at *field.Path, term corev1.NodeSelectorTerm, checksValues bool) {
	for i, expression := range term.MatchExpressions {
		at := at.Child("matchExpressions").Index(i)
		l.key(at.Child("key"), expression.Key)
		for j, value := range expression.Values {
			if wrong := utilvalidation.IsValidLabelValue(value); checksValues && len(wrong) > 0 {
				l.at(at.Child("values").Index(j), "%s is invalid, %s", value, wrong[0])
			}
		}
	}
}

func (l *list) terms(at *field.Path, selector *corev1.NodeSelector) {
	if selector != nil {
		for i, term := range selector.NodeSelectorTerms {
			l.term(at.Child("nodeSelectorTerms").Index(i), term, false)
		}
	}
}
