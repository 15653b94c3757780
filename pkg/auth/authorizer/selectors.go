package authorizer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// ParseFieldSelector returns the requirements of a field selector.
func ParseFieldSelector(raw string) (requirements []metav1.FieldSelectorRequirement, err error) {
	selector, err := fields.ParseSelector(raw)
	if err != nil {
		return nil, err
	}
	for _, one := range selector.Requirements() {
		operator := metav1.FieldSelectorOpIn
		if one.Operator == selection.NotEquals {
			operator = metav1.FieldSelectorOpNotIn
		}
		requirements = append(requirements, metav1.FieldSelectorRequirement{Key: one.Field, Operator: operator, Values: []string{one.Value}})
	}
	return requirements, nil
}

// labelOperators has the operators of requirements that reviews know. Without another one, a requirement is about more objects.
var labelOperators = map[selection.Operator]metav1.LabelSelectorOperator{
	selection.Equals: metav1.LabelSelectorOpIn, selection.DoubleEquals: metav1.LabelSelectorOpIn, selection.In: metav1.LabelSelectorOpIn,
	selection.NotEquals: metav1.LabelSelectorOpNotIn, selection.NotIn: metav1.LabelSelectorOpNotIn,
	selection.Exists: metav1.LabelSelectorOpExists, selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
}

// ParseLabelSelector returns the requirements of a label selector. Those that reviews cannot express are left out.
func ParseLabelSelector(raw string) (requirements []metav1.LabelSelectorRequirement, err error) {
	selector, err := labels.Parse(raw)
	if err != nil {
		return nil, err
	}
	parsed, _ := selector.Requirements()
	for _, one := range parsed {
		if operator, known := labelOperators[one.Operator()]; known {
			requirements = append(requirements, metav1.LabelSelectorRequirement{Key: one.Key(), Operator: operator, Values: one.Values().List()})
		}
	}
	return requirements, nil
}
