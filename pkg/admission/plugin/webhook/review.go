package webhook

import (
	"encoding/json"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/matching"
)

// newRequest returns the request of all reviews of a view of a change, without the uid of a call.
func newRequest(view matching.View, a *admission.Attributes) (*admissionv1.AdmissionRequest, error) {
	r, err := matching.NewRequest(view.Version, a)
	if err == nil && view.Object != nil {
		r.Object.Raw, err = encode(view.Object)
	}
	if err == nil && view.OldObject != nil {
		r.OldObject.Raw, err = encode(view.OldObject)
	}
	return r, err
}

func encode(object runtime.Object) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, errors.New("the object cannot be encoded")
	}
	return text, nil
}

// checkResponse returns the error of an invalid response in the words of today's server, without its values. One of v1beta1 need
// not repeat the uid, nor tell the type of its patch, which gets the only one there is.
func checkResponse(response *admissionv1.AdmissionResponse, version string, uid types.UID, mayPatch bool) error {
	if response == nil {
		return errors.New("webhook response was absent")
	}
	if version == "v1beta1" {
		response.UID, response.PatchType = uid, nil
		if len(response.Patch) > 0 {
			response.PatchType = new(admissionv1.PatchTypeJSONPatch)
		}
	}
	switch {
	case response.UID != uid:
		return errors.New("response.uid is not that of the request")
	case !mayPatch && len(response.Patch) > 0:
		return errors.New("validating webhook may not return response.patch")
	case !mayPatch && response.PatchType != nil:
		return errors.New("validating webhook may not return response.patchType")
	case len(response.Patch) > 0 && response.PatchType == nil:
		return errors.New("webhook returned response.patch but not response.patchType")
	case len(response.Patch) == 0 && response.PatchType != nil:
		return errors.New("webhook returned response.patchType but not response.patch")
	case response.PatchType != nil && *response.PatchType == "":
		return errors.New(`webhook returned invalid response.patchType of ""`)
	}
	return nil
}
