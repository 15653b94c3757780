package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/matching"
	"kube2014/pkg/api/v1/patch"
	"kube2014/pkg/util/quantity"
)

// maxObject bounds a patched object, in bytes, as the body of a client's request.
const maxObject = 3 << 20

// patch replaces the object of the attributes by a patched one, if the response has a patch, and reports
// whether it differs. Before is the JSON of the object in the view. The error is failed or broken; then nothing
// has changed.
func (p *common) patch(a *admission.Attributes, view matching.View, h *hook, before []byte, response *admissionv1.AdmissionResponse) (changed bool, err error) {
	if len(response.Patch) == 0 {
		return false, nil
	}
	var operations []json.RawMessage
	changes, err := patch.Parse(types.JSONPatchType, response.Patch)
	if err != nil || json.Unmarshal(response.Patch, &operations) != nil {
		return false, &failed{errors.New("received undecodable patch in webhook response"), http.StatusServiceUnavailable}
	}
	switch {
	case len(operations) == 0:
		return false, nil
	case a.Object == nil, a.Operation == admission.Connect:
		return false, h.internal("attempted to modify the object, which is not supported for this operation")
	case *response.PatchType != admissionv1.PatchTypeJSONPatch:
		return false, &failed{errors.New("unsupported patch type"), http.StatusBadRequest}
	}
	after, err := changes.Apply(before)
	if err != nil {
		return false, h.internal("sent a patch that cannot be applied")
	}
	object, err := h.read(after, view)
	if err != nil {
		return false, err
	}
	if err := checkIdentity(object, a); err != nil {
		return false, &broken{err}
	}
	if apiequality.Semantic.DeepEqual(view.Object, object) {
		return false, nil
	}
	if err := p.matcher.Replace(object, view.Version, a); err != nil {
		return false, h.internal("patched the object to one that cannot be converted")
	}
	return true, nil
}

// read decodes a patched object, which has the type of the one before.
func (h *hook) read(text []byte, view matching.View) (admission.Object, error) {
	if len(text) > maxObject {
		return nil, h.internal("patched the object to one of more than %d bytes", maxObject)
	}
	if err := quantity.CheckJSON(text); err != nil {
		return nil, h.internal("patched the object: %v", err)
	}
	object := reflect.New(reflect.TypeOf(view.Object).Elem()).Interface().(admission.Object)
	err := kjson.UnmarshalCaseSensitivePreserveInts(text, object)
	var mistyped *json.UnmarshalTypeError
	kind := object.GetObjectKind()
	patched := kind.GroupVersionKind()
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return nil, h.internal("patched %s to a value of another type", mistyped.Field)
	case err != nil:
		return nil, h.internal("patched the object to one that cannot be read")
	case patched.Kind != "" && patched.Kind != view.Kind.Kind, !patched.GroupVersion().Empty() && patched.GroupVersion() != view.Kind.GroupVersion():
		return nil, h.internal("patched the object to one of another kind")
	}
	kind.SetGroupVersionKind(view.Kind)
	return object, nil
}

// checkIdentity refuses an object with another namespace, name or uid. Only a new object may get
// another name.
func checkIdentity(object admission.Object, a *admission.Attributes) error {
	immutable := func(name, value string) error {
		wrong := field.Invalid(field.NewPath("metadata", name), value, "field is immutable")
		return apierrors.NewInvalid(a.Kind.GroupKind(), object.GetName(), field.ErrorList{wrong})
	}
	namespace, before := object.GetNamespace(), a.Object.GetNamespace()
	if namespace != "" && namespace != before && namespace != a.Namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	object.SetNamespace(before)
	_, isNew := a.Options.(*metav1.CreateOptions)
	if name := a.Object.GetName(); name != "" && object.GetName() != name && !isNew {
		return immutable("name", object.GetName())
	}
	if uid := a.Object.GetUID(); uid != "" && object.GetUID() != "" && object.GetUID() != uid {
		return immutable("uid", string(object.GetUID()))
	}
	return nil
}

// internal returns the error of a webhook with an invalid patch.
func (h *hook) internal(what string, args ...any) error {
	return &broken{apierrors.NewInternalError(fmt.Errorf("admission webhook %q "+what, append([]any{h.name}, args...)...))}
}
