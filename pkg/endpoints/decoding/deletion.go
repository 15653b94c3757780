package decoding

import (
	"encoding/json"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/endpoints/query"
	"kube2014/pkg/server/request"
)

// DeleteOptions decodes the options of a delete from the body or from the query.
func (d Decoder) DeleteOptions() (metav1.DeleteOptions, error) {
	body, err := bodies.Read(d.W, d.Request)
	if err != nil {
		return metav1.DeleteOptions{}, err
	}
	if len(body) == 0 {
		return query.DeleteOptions(d.URL.Query())
	}
	deletion, err := d.decodeDeletion(body)
	if err != nil {
		return deletion, err
	}
	request.ObserverFrom(d.Context()).RequestObject(&deletion)
	if deletion.Kind != "" && deletion.Kind != "DeleteOptions" {
		return deletion, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return deletion, query.CheckDelete(&deletion)
}

// decodeDeletion decodes the options in the body of a delete.
func (d Decoder) decodeDeletion(body []byte) (deletion metav1.DeleteOptions, err error) {
	if bodies.Type(d.Header) == bodies.Protobuf {
		envelope, err := bodies.Unwrap(body)
		if err == nil {
			err = deletion.Unmarshal(envelope.Raw)
		}
		if err != nil {
			return deletion, apierrors.NewBadRequest(err.Error())
		}
		deletion.Kind = envelope.Kind
		return deletion, nil
	}
	text, _, err := bodies.JSON(d.Header, body)
	if wrong := (*bodies.Malformed)(nil); errors.As(err, &wrong) {
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
