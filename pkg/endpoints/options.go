package endpoints

import (
	"encoding/json"
	"errors"
	"mime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/endpoints/query"
	"kube2014/pkg/server/request"
)

// deleteOptions reads the options of a delete, which stand in the body or in the query.
func (r *call) deleteOptions() (metav1.DeleteOptions, error) {
	body, err := r.body()
	if err != nil {
		return metav1.DeleteOptions{}, err
	}
	if len(body) == 0 {
		return query.DeleteOptions(r.URL.Query())
	}
	deletion, err := r.decodeDeletion(body)
	if err != nil {
		return deletion, err
	}
	request.ObserverFrom(r.Context()).RequestObject(&deletion)
	if deletion.Kind != "" && deletion.Kind != "DeleteOptions" {
		return deletion, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return deletion, query.CheckDelete(&deletion)
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
	if wrong := (*yamlError)(nil); errors.As(err, &wrong) {
		return deletion, apierrors.NewBadRequest(wrong.Error())
	}
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
