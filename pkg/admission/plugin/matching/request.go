package matching

import (
	"encoding/json"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/admission"
	"kube2014/pkg/auth/user/userinfo"
)

// NewRequest returns what webhooks and expressions are told of a change in a version, but for the objects and a uid.
func NewRequest(in Version, a *admission.Attributes) (*admissionv1.AdmissionRequest, error) {
	requestKind, requestResource := metav1.GroupVersionKind(a.Kind), metav1.GroupVersionResource(a.Resource)
	r := &admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind(in.Kind), Resource: metav1.GroupVersionResource(in.Resource), SubResource: a.Subresource,
		RequestKind: &requestKind, RequestResource: &requestResource, RequestSubResource: a.Subresource,
		Name: a.Name, Namespace: NamespaceOf(a), Operation: admissionv1.Operation(a.Operation), UserInfo: userinfo.Of(a.User), DryRun: &a.DryRun,
	}
	if a.Options == nil {
		return r, nil
	}
	text, err := json.Marshal(optionsOf(a.Options))
	if err != nil {
		return nil, errors.New("the options cannot be encoded")
	}
	r.Options.Raw = text
	return r, nil
}

// optionsOf returns the options of a request with their kind. Here, a patch is an update.
func optionsOf(options runtime.Object) runtime.Object {
	kind := "UpdateOptions"
	switch of := options.(type) {
	case *metav1.CreateOptions:
		kind = "CreateOptions"
	case *metav1.DeleteOptions:
		kind = "DeleteOptions"
	case *metav1.PatchOptions:
		options = &metav1.UpdateOptions{DryRun: of.DryRun, FieldManager: of.FieldManager, FieldValidation: of.FieldValidation}
	}
	options = options.DeepCopyObject() // the original must not be changed
	options.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(kind))
	return options
}
