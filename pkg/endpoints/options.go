package endpoints

import (
	"encoding/json"
	"mime"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// readOptions reads the options of a verb out of the query, and checks them.
func readOptions[T any](query url.Values, kind string, read func(*url.Values, *T) error, check func(*T) field.ErrorList) (T, error) {
	var asked T
	if err := read(&query, &asked); err != nil {
		return asked, apierrors.NewBadRequest(err.Error())
	}
	return asked, invalidOptions(kind, check(&asked))
}

func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return rest.Invalid(metav1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
}

func (r *call) createOptions() (metav1.CreateOptions, error) {
	return readOptions(r.URL.Query(), "CreateOptions", func(query *url.Values, options *metav1.CreateOptions) error {
		return metav1.Convert_url_Values_To_v1_CreateOptions(query, options, nil)
	}, validation.ValidateCreateOptions)
}

func (r *call) updateOptions() (metav1.UpdateOptions, error) {
	return readOptions(r.URL.Query(), "UpdateOptions", func(query *url.Values, options *metav1.UpdateOptions) error {
		return metav1.Convert_url_Values_To_v1_UpdateOptions(query, options, nil)
	}, validation.ValidateUpdateOptions)
}

func (r *call) listOptions() (rest.ListOptions, error) {
	_, list, err := r.askedOfList()
	return list, err
}

// watchOptions reads the options of a watch, which may be one of a single object: its name
// selects it then.
func (r *call) watchOptions() (metav1.ListOptions, rest.WatchOptions, error) {
	asked, list, err := r.askedOfList()
	if err != nil {
		return asked, rest.WatchOptions{}, err
	}
	if name := r.info.Name; name != "" {
		switch selected, _ := list.Fields.RequiresExactMatch(metav1.ObjectNameField); {
		case list.Fields.Empty():
			list.Fields = fields.OneTermEqualSelector(metav1.ObjectNameField, name)
		case selected != name:
			return asked, rest.WatchOptions{}, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
		}
	}
	return asked, rest.WatchOptions{ListOptions: list, Initial: asked.SendInitialEvents}, nil
}

// askedOfList reads the options of a list or a watch.
func (r *call) askedOfList() (metav1.ListOptions, rest.ListOptions, error) {
	asked, err := readOptions(r.URL.Query(), "ListOptions", func(query *url.Values, options *metav1.ListOptions) error {
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
	return asked, list, invalidOptions("ListOptions", internalvalidation.ValidateListOptions(checked, true))
}

// deleteOptions reads the options of a delete, which stand in the body or in the query.
func (r *call) deleteOptions() (metav1.DeleteOptions, error) {
	body, err := r.body()
	if err != nil {
		return metav1.DeleteOptions{}, err
	}
	if len(body) == 0 {
		return readOptions(r.URL.Query(), "DeleteOptions", func(query *url.Values, options *metav1.DeleteOptions) error {
			return metav1.Convert_url_Values_To_v1_DeleteOptions(query, options, nil)
		}, validation.ValidateDeleteOptions)
	}
	deletion, err := r.decodeDeletion(body)
	if err != nil {
		return deletion, err
	}
	request.ObserverFrom(r.Context()).RequestObject(&deletion)
	if deletion.Kind != "" && deletion.Kind != "DeleteOptions" {
		return deletion, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return deletion, invalidOptions("DeleteOptions", validation.ValidateDeleteOptions(&deletion))
}

// decodeDeletion reads the options in the body of a delete.
func (r *call) decodeDeletion(body []byte) (deletion metav1.DeleteOptions, err error) {
	if r.mediaType() == protobufType {
		envelope, err := unwrapped(body)
		if err == nil {
			err = deletion.Unmarshal(envelope.Raw)
		}
		if err != nil {
			return deletion, apierrors.NewBadRequest(err.Error())
		}
		deletion.Kind = envelope.Kind
		return deletion, nil
	}
	text, err := r.asJSON(body)
	if err != nil {
		return deletion, err
	}
	if err := json.Unmarshal(text, &deletion); err != nil {
		return deletion, apierrors.NewBadRequest(err.Error())
	}
	return deletion, nil
}

// fieldValidation returns what is done about fields that are not known, or given twice.
func (r *call) fieldValidation() string {
	if asked := r.URL.Query().Get("fieldValidation"); asked != "" {
		return asked
	}
	return metav1.FieldValidationWarn
}

// mediaType returns the type of the body, without parameters: "" if the client names none.
func (r *call) mediaType() string {
	named := r.Header.Get("Content-Type")
	if named == "" {
		return ""
	}
	mediaType, _, err := mime.ParseMediaType(named)
	if err != nil {
		return "unreadable"
	}
	return mediaType
}
