package reviews

import (
	"encoding/json"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
