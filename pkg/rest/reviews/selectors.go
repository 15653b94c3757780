package reviews

import (
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Selectors are checked as today's server does. An operator that nobody knows is no error:
// without its requirement, the review asks for more than the client will do.

func selectorErrors(r authorizationv1.ResourceAttributes) (errs field.ErrorList) {
	if s := r.FieldSelector; s != nil {
		path := resourcePath.Child("fieldSelector")
		errs = append(errs, oneForm(path, s.RawSelector, len(s.Requirements))...)
		for i, one := range s.Requirements {
			errs = append(errs, validation.ValidateFieldSelectorRequirement(one,
				validation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Child("requirements").Index(i))...)
		}
	}
	if s := r.LabelSelector; s != nil {
		path := resourcePath.Child("labelSelector")
		errs = append(errs, oneForm(path, s.RawSelector, len(s.Requirements))...)
		for i, one := range s.Requirements {
			errs = append(errs, validation.ValidateLabelSelectorRequirement(one,
				validation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Child("requirements").Index(i))...)
		}
	}
	return errs
}

// oneForm says why a selector does not have exactly one of its two forms.
func oneForm(path *field.Path, raw string, requirements int) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(path.Child("requirements"), fmt.Sprintf("when %s is specified, requirements or rawSelector is required", path))}
	}
	return nil
}

// unreadSelectors tells which selectors cannot be understood, as a whole or in part.
func (q question) unreadSelectors() (problems []string) {
	if q.resource == nil {
		return nil
	}
	if s := q.resource.FieldSelector; s != nil {
		_, err := fields.ParseSelector(s.RawSelector)
		unread := unread(s.Requirements, func(one metav1.FieldSelectorRequirement) bool {
			return len(one.Values) == 1 && (one.Operator == metav1.FieldSelectorOpIn || one.Operator == metav1.FieldSelectorOpNotIn)
		})
		problems = append(problems, ignored("fieldSelector", err, unread, len(s.Requirements))...)
	}
	if s := q.resource.LabelSelector; s != nil {
		_, err := labels.Parse(s.RawSelector)
		unread := unread(s.Requirements, func(one metav1.LabelSelectorRequirement) bool {
			return slices.Contains(labelOperators, one.Operator)
		})
		problems = append(problems, ignored("labelSelector", err, unread, len(s.Requirements))...)
	}
	return problems
}

var labelOperators = []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}

// unread counts the requirements that are not known.
func unread[T any](requirements []T, known func(T) bool) (count int) {
	for _, one := range requirements {
		if !known(one) {
			count++
		}
	}
	return count
}

func ignored(name string, err error, unread, all int) []string {
	switch {
	case err != nil, unread > 0 && unread == all:
		return []string{resourcePath.Child(name).String() + " ignored due to parse error"}
	case unread > 0:
		return []string{resourcePath.Child(name).String() + " partially ignored due to parse error"}
	}
	return nil
}
