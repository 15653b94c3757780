package reviews

import (
	"encoding/json"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/rest"
)

var (
	specPath     = field.NewPath("spec")
	resourcePath = specPath.Child("resourceAttributes")
	otherPath    = specPath.Child("nonResourceAttributes")
)

// invalid returns the status of an invalid review, nil without errors. Today's server does not
// name the kind in it.
func invalid(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	for _, one := range errs {
		if text, err := json.Marshal(one.BadValue); err != nil || len(text) > maxProblem {
			one.BadValue = field.OmitValueType{} // it is repeated several times, each time escaped
		}
	}
	return rest.Invalid(schema.GroupKind{Group: authorizationGroup.Group}, "", errs)
}

func (q question) errors() (errs field.ErrorList) {
	switch {
	case q.resource != nil && q.path != nil:
		errs = append(errs, field.Invalid(otherPath, shownPath(*q.path), "cannot be specified in combination with resourceAttributes"))
	case q.resource == nil && q.path == nil:
		errs = append(errs, field.Invalid(resourcePath, nil, "exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	}
	if q.resource != nil {
		errs = append(errs, selectorErrors(*q.resource)...)
	}
	return errs
}

// shownPath has the names of the fields that today's server shows.
type shownPath struct{ Path, Verb string }

func subjectErrors(spec authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := question{spec.ResourceAttributes, spec.NonResourceAttributes}.errors()
	if spec.User != "" || len(spec.Groups) > 0 {
		return errs
	}
	return append(errs, field.Invalid(specPath.Child("user"), "", "at least one of user or group must be specified"))
}

func localErrors(review *authorizationv1.LocalSubjectAccessReview) field.ErrorList {
	metadata := review.ObjectMeta
	metadata.Namespace = ""
	errs := field.ErrorList{}
	if len(mustBeEmpty(metadata, "")) > 0 {
		errs = mustBeEmpty(review.ObjectMeta, "must be empty except for namespace")
	}
	if r := review.Spec.ResourceAttributes; r != nil && r.Namespace != review.Namespace {
		errs = append(errs, field.Invalid(resourcePath.Child("namespace"), r.Namespace, "must match metadata.namespace"))
	}
	if path := review.Spec.NonResourceAttributes; path != nil {
		errs = append(errs, field.Invalid(otherPath, shownPath(*path), "disallowed on this kind of request"))
	}
	return errs
}

func mustBeEmpty(metadata metav1.ObjectMeta, text string) field.ErrorList {
	if equality.Semantic.DeepEqual(metadata, metav1.ObjectMeta{}) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), metadata, text)}
}

// Selectors are checked as today's server does. An unknown operator is no error: without its
// requirement, the review is about more objects than the client will use.

func selectorErrors(r authorizationv1.ResourceAttributes) (errs field.ErrorList) {
	if s := r.FieldSelector; s != nil {
		path := resourcePath.Child("fieldSelector")
		values := func(one metav1.FieldSelectorRequirement) int { return len(one.Values) }
		errs = append(errs, formErrors(path, s.RawSelector, s.Requirements, values, func(one metav1.FieldSelectorRequirement, path *field.Path) field.ErrorList {
			return validation.ValidateFieldSelectorRequirement(one, validation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path)
		})...)
	}
	if s := r.LabelSelector; s != nil {
		path := resourcePath.Child("labelSelector")
		values := func(one metav1.LabelSelectorRequirement) int { return len(one.Values) }
		errs = append(errs, formErrors(path, s.RawSelector, s.Requirements, values, func(one metav1.LabelSelectorRequirement, path *field.Path) field.ErrorList {
			return validation.ValidateLabelSelectorRequirement(one, validation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path)
		})...)
	}
	return errs
}

// Limits of a selector: the length of its raw form in bytes, and its requirements and their
// values together. Without them, a body would cost a hundred times its size.
const (
	maxRaw   = 64 << 10
	maxParts = 1000
)

// formErrors returns the errors of a selector: it must have exactly one of its two forms, a
// bounded size, and valid requirements.
func formErrors[T any](path *field.Path, raw string, requirements []T, values func(T) int, check func(T, *field.Path) field.ErrorList) (errs field.ErrorList) {
	parts := len(requirements)
	for _, one := range requirements {
		parts += values(one)
	}
	switch {
	case len(raw) > maxRaw:
		return field.ErrorList{field.TooLong(path.Child("rawSelector"), "", maxRaw)}
	case parts > maxParts:
		return field.ErrorList{field.TooMany(path.Child("requirements"), parts, maxParts)}
	case raw != "" && len(requirements) > 0:
		errs = append(errs, field.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements"))
	case raw == "" && len(requirements) == 0:
		errs = append(errs, field.Required(path.Child("requirements"), fmt.Sprintf("when %s is specified, requirements or rawSelector is required", path)))
	}
	for i, one := range requirements {
		errs = append(errs, check(one, path.Child("requirements").Index(i))...)
	}
	return errs
}

// unreadSelectors names the selectors that cannot be parsed, as a whole or in part.
func (q question) unreadSelectors() (problems []string) {
	if q.resource == nil {
		return nil
	}
	if s := q.resource.FieldSelector; s != nil {
		_, err := fields.ParseSelector(s.RawSelector)
		problems = append(problems, ignored("fieldSelector", err, s.Requirements, isReadField)...)
	}
	if s := q.resource.LabelSelector; s != nil {
		_, err := labels.Parse(s.RawSelector)
		problems = append(problems, ignored("labelSelector", err, s.Requirements, isReadLabel)...)
	}
	return problems
}

func isReadField(one metav1.FieldSelectorRequirement) bool {
	return len(one.Values) == 1 && (one.Operator == metav1.FieldSelectorOpIn || one.Operator == metav1.FieldSelectorOpNotIn)
}

func isReadLabel(one metav1.LabelSelectorRequirement) bool {
	return slices.Contains(labelOperators, one.Operator)
}

// read returns the requirements that are known.
func read[T any](requirements []T, known func(T) bool) (read []T) {
	for _, one := range requirements {
		if known(one) {
			read = append(read, one)
		}
	}
	return read
}

var labelOperators = []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}

// ignored names a selector whose raw form has an error, or whose requirements are not all known.
func ignored[T any](name string, err error, requirements []T, known func(T) bool) []string {
	unread := len(requirements) - len(read(requirements, known))
	switch {
	case err != nil, unread > 0 && unread == len(requirements):
		return []string{resourcePath.Child(name).String() + " ignored due to parse error"}
	case unread > 0:
		return []string{resourcePath.Child(name).String() + " partially ignored due to parse error"}
	}
	return nil
}
