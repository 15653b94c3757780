// Package query reads the options of the verbs out of the query of a URL, and checks them. Its errors
// are those of the answer.
package query

import (
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/rest"
)

// read reads the options of a verb out of the query, and checks them.
func read[T any](query url.Values, kind string, convert func(*url.Values, *T) error, check func(*T) field.ErrorList) (T, error) {
	var asked T
	if err := convert(&query, &asked); err != nil {
		return asked, apierrors.NewBadRequest(err.Error())
	}
	return asked, invalid(kind, check(&asked))
}

func invalid(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return rest.Invalid(metav1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
}

// CreateOptions reads the options of a create.
func CreateOptions(query url.Values) (metav1.CreateOptions, error) {
	return read(query, "CreateOptions", func(query *url.Values, options *metav1.CreateOptions) error {
		return metav1.Convert_url_Values_To_v1_CreateOptions(query, options, nil)
	}, validation.ValidateCreateOptions)
}

// UpdateOptions reads the options of an update.
func UpdateOptions(query url.Values) (metav1.UpdateOptions, error) {
	return read(query, "UpdateOptions", func(query *url.Values, options *metav1.UpdateOptions) error {
		return metav1.Convert_url_Values_To_v1_UpdateOptions(query, options, nil)
	}, validation.ValidateUpdateOptions)
}

// PatchOptions reads the options of a patch of a type.
func PatchOptions(query url.Values, patch types.PatchType) (metav1.PatchOptions, error) {
	options := metav1.PatchOptions{DryRun: query["dryRun"], FieldManager: query.Get("fieldManager"), FieldValidation: query.Get("fieldValidation")}
	if query.Has("force") {
		options.Force = new(query.Get("force") != "false" && query.Get("force") != "0")
	}
	return options, invalid("PatchOptions", validation.ValidatePatchOptions(&options, patch))
}

// DeleteOptions reads the options of a delete that has no body.
func DeleteOptions(query url.Values) (metav1.DeleteOptions, error) {
	return read(query, "DeleteOptions", func(query *url.Values, options *metav1.DeleteOptions) error {
		return metav1.Convert_url_Values_To_v1_DeleteOptions(query, options, nil)
	}, validation.ValidateDeleteOptions)
}

// CheckDelete returns an error if the options in the body of a delete are not valid.
func CheckDelete(options *metav1.DeleteOptions) error {
	return invalid("DeleteOptions", validation.ValidateDeleteOptions(options))
}

// ListOptions reads the options of a list.
func ListOptions(query url.Values) (rest.ListOptions, error) {
	_, list, err := readList(query)
	return list, err
}

// WatchOptions reads the options of a watch, which may be one of a single object: its name, if it is not
// "", selects it then.
func WatchOptions(query url.Values, name string) (metav1.ListOptions, rest.WatchOptions, error) {
	asked, list, err := readList(query)
	if err != nil {
		return asked, rest.WatchOptions{}, err
	}
	if name != "" {
		switch selected, _ := list.Fields.RequiresExactMatch(metav1.ObjectNameField); {
		case list.Fields.Empty():
			list.Fields = fields.OneTermEqualSelector(metav1.ObjectNameField, name)
		case selected != name:
			return asked, rest.WatchOptions{}, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
		}
	}
	return asked, rest.WatchOptions{ListOptions: list, Initial: asked.SendInitialEvents}, nil
}

// readList reads the options of a list or a watch.
func readList(query url.Values) (metav1.ListOptions, rest.ListOptions, error) {
	asked, err := read(query, "ListOptions", func(query *url.Values, options *metav1.ListOptions) error {
		return metav1.Convert_url_Values_To_v1_ListOptions(query, options, nil)
	}, func(*metav1.ListOptions) field.ErrorList { return nil })
	if err != nil {
		return asked, rest.ListOptions{}, err
	}
	list := rest.ListOptions{Limit: asked.Limit, Continue: asked.Continue, ResourceVersion: asked.ResourceVersion, Match: asked.ResourceVersionMatch}
	if list.Labels, err = labels.Parse(asked.LabelSelector); err != nil {
		return asked, list, apierrors.NewBadRequest(err.Error())
	}
	if list.Fields, err = fields.ParseSelector(asked.FieldSelector); err != nil {
		return asked, list, apierrors.NewBadRequest(err.Error())
	}
	checked := &internalversion.ListOptions{ResourceVersion: asked.ResourceVersion, ResourceVersionMatch: asked.ResourceVersionMatch,
		Continue: asked.Continue, Limit: asked.Limit, SendInitialEvents: asked.SendInitialEvents, Watch: asked.Watch}
	internalversion.SetListOptionsDefaults(checked, true)
	return asked, list, invalid("ListOptions", internalvalidation.ValidateListOptions(checked, true))
}
