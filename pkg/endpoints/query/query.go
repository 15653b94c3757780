// Package query decodes the options of the verbs from the query of a URL, and checks them. Its errors
// are sent to the client.
package query

import (
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/rest"
)

// read decodes the options of a verb, and checks them.
func read[T any](query url.Values, kind string, convert func(*url.Values, *T, conversion.Scope) error, check func(*T) field.ErrorList) (options T, err error) {
	if err := convert(&query, &options, nil); err != nil {
		return options, apierrors.NewBadRequest(err.Error())
	}
	return options, invalid(kind, check(&options))
}

func invalid(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return rest.Invalid(metav1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
}

// CreateOptions reads the options of a create.
func CreateOptions(query url.Values) (metav1.CreateOptions, error) {
	return read(query, "CreateOptions", metav1.Convert_url_Values_To_v1_CreateOptions, validation.ValidateCreateOptions)
}

// UpdateOptions reads the options of an update.
func UpdateOptions(query url.Values) (metav1.UpdateOptions, error) {
	return read(query, "UpdateOptions", metav1.Convert_url_Values_To_v1_UpdateOptions, validation.ValidateUpdateOptions)
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
	return read(query, "DeleteOptions", metav1.Convert_url_Values_To_v1_DeleteOptions, validation.ValidateDeleteOptions)
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

// WatchOptions reads the options of a watch. A name that is not "" limits the watch to the object of that
// name.
func WatchOptions(query url.Values, name string) (metav1.ListOptions, rest.WatchOptions, error) {
	sent, list, err := readList(query)
	if err != nil {
		return sent, rest.WatchOptions{}, err
	}
	if name != "" {
		switch selected, _ := list.Fields.RequiresExactMatch(metav1.ObjectNameField); {
		case list.Fields.Empty():
			list.Fields = fields.OneTermEqualSelector(metav1.ObjectNameField, name)
		case selected != name:
			return sent, rest.WatchOptions{}, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
		}
	}
	return sent, rest.WatchOptions{ListOptions: list, Initial: sent.SendInitialEvents}, nil
}

// readList reads the options of a list or a watch.
func readList(query url.Values) (metav1.ListOptions, rest.ListOptions, error) {
	sent, err := read(query, "ListOptions", metav1.Convert_url_Values_To_v1_ListOptions, func(*metav1.ListOptions) field.ErrorList { return nil })
	if err != nil {
		return sent, rest.ListOptions{}, err
	}
	list := rest.ListOptions{Limit: sent.Limit, Continue: sent.Continue, ResourceVersion: sent.ResourceVersion, Match: sent.ResourceVersionMatch}
	if list.Labels, err = labels.Parse(sent.LabelSelector); err != nil {
		return sent, list, apierrors.NewBadRequest(err.Error())
	}
	if list.Fields, err = fields.ParseSelector(sent.FieldSelector); err != nil {
		return sent, list, apierrors.NewBadRequest(err.Error())
	}
	checked := &internalversion.ListOptions{ResourceVersion: sent.ResourceVersion, ResourceVersionMatch: sent.ResourceVersionMatch,
		Continue: sent.Continue, Limit: sent.Limit, SendInitialEvents: sent.SendInitialEvents, Watch: sent.Watch}
	internalversion.SetListOptionsDefaults(checked, true)
	return sent, list, invalid("ListOptions", internalvalidation.ValidateListOptions(checked, true))
}
