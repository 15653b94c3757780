package webhook

import (
	"encoding/json"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/admission"
	"kube2014/pkg/auth/user/userinfo"
)

// newRequest returns the request of all reviews of a change, without the uid of a call.
func newRequest(a *admission.Attributes) (*admissionv1.AdmissionRequest, error) {
	kind, resource := metav1.GroupVersionKind(a.Kind), metav1.GroupVersionResource(a.Resource)
	r := &admissionv1.AdmissionRequest{
		Kind: kind, Resource: resource, SubResource: a.Subresource, RequestKind: &kind, RequestResource: &resource, RequestSubResource: a.Subresource,
		Name: a.Name, Namespace: namespaceOf(a), Operation: admissionv1.Operation(a.Operation), UserInfo: userinfo.Of(a.User), DryRun: &a.DryRun,
	}
	var err error
	if a.Object != nil {
		r.Object.Raw, err = encode(a.Object, a.Kind)
	}
	if err == nil && a.OldObject != nil {
		r.OldObject.Raw, err = encode(a.OldObject, a.Kind)
	}
	if err == nil && a.Options != nil {
		r.Options.Raw, err = encodeOptions(a.Options)
	}
	return r, err
}

// namespaceOf returns the namespace of a change as webhooks see it: that of a namespace is itself.
func namespaceOf(a *admission.Attributes) string {
	if isNamespace(a) {
		return a.Name
	}
	return a.Namespace
}

func withKind(object runtime.Object, kind schema.GroupVersionKind) runtime.Object {
	object = object.DeepCopyObject() // the original must not be changed
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object
}

func encode(object runtime.Object, kind schema.GroupVersionKind) ([]byte, error) {
	text, err := json.Marshal(withKind(object, kind))
	if err != nil {
		return nil, errors.New("the object cannot be encoded")
	}
	return text, nil
}

// encodeOptions returns the JSON of a request's options. For webhooks, a patch is an update.
func encodeOptions(options runtime.Object) ([]byte, error) {
	kind := "UpdateOptions"
	switch of := options.(type) {
	case *metav1.CreateOptions:
		kind = "CreateOptions"
	case *metav1.DeleteOptions:
		kind = "DeleteOptions"
	case *metav1.PatchOptions:
		options = &metav1.UpdateOptions{DryRun: of.DryRun, FieldManager: of.FieldManager, FieldValidation: of.FieldValidation}
	}
	return encode(options, metav1.SchemeGroupVersion.WithKind(kind))
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
