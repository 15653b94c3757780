package endpoints

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"kube2014/pkg/api/v1/patch"
	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/endpoints/negotiation"
	"kube2014/pkg/endpoints/query"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util/quantity"
)

func (r *call) patch() error {
	storage, err := storageAs[rest.Updater](r)
	if _, unreadable := storageAs[rest.Getter](r); err != nil || unreadable != nil || r.info.Name == "" {
		return notAllowed()
	}
	options, err := query.PatchOptions(r.URL.Query(), types.PatchType(bodies.Type(r.Header)))
	if err != nil {
		return err
	}
	body, err := bodies.Read(r.W, r.Request)
	if err != nil {
		return err
	}
	request.ObserverFrom(r.Context()).RequestObject(body)
	if r.applies() {
		return r.apply(storage, &options, body)
	}
	if _, untyped := storage.New().(*unstructured.Unstructured); untyped && r.mergesStrategically() {
		return negotiation.Unsupported(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "the body of the request was in an unknown format - "+
			"accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
	}
	changes, err := patch.Parse(types.PatchType(bodies.Type(r.Header)), body)
	if errors.Is(err, patch.ErrUnknownType) {
		return negotiation.Unsupported(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type")
	}
	if err != nil {
		return err
	}
	return r.change(storage, len(options.DryRun) > 0, &options, r.manager(options.FieldManager), func(current rest.Object) (rest.Object, error) {
		patched := storage.New()
		if current == nil {
			return nil, apierrors.NewNotFound(schema.GroupResource{Group: r.info.APIGroup, Resource: r.info.Resource}, r.info.Name)
		}
		err := r.patched(current, patched, changes, body)
		if err == nil {
			r.dropDuplicateOwners(patched, asAdmitted)
		}
		return patched, err
	})
}

// patched fills into with the patched object. It reports the duplicate fields of the patch, and the
// unknown and duplicate fields of the object.
func (r *call) patched(current, into rest.Object, changes *patch.Patch, body []byte) error {
	fill := r.fillEdited
	if changes.Merges() {
		fill = r.fillMerged
	}
	unknown, refuse, err := fill(current, into, changes, body)
	if err != nil {
		return err
	}
	if err := r.agreeOnName(into); err != nil {
		return err
	}
	if r.Resource.Untyped.Decode == nil { // else its kind is validated
		into.GetObjectKind().SetGroupVersionKind(r.Resource.Kind)
	}
	return r.reportUnknown(append(slices.Clone(changes.Twice), unknown...), refuse)
}

// Today's server decodes the result of a strategic merge from a map, ignores its kind, and shows
// the patch in errors. The result of another patch is JSON: it is decoded like a body, and shown
// in errors.

func (r *call) mergesStrategically() bool {
	return types.PatchType(bodies.Type(r.Header)) == types.StrategicMergePatchType
}

// refusal returns the error about a patched object, which it shows.
func refusal(shown string, why error) error {
	return rest.Invalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), shown, why.Error())})
}

func patchedTooLarge() error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the patched object has more than %d bytes", bodies.MaxSize))
}

// fillEdited fills into with the result of a patch of JSON.
func (r *call) fillEdited(current, into rest.Object, changes *patch.Patch, _ []byte) (unknown []error, refuse func(error) error, err error) {
	before, err := json.Marshal(current)
	if err != nil {
		return nil, nil, err
	}
	after, err := changes.Apply(before)
	if err != nil {
		return nil, nil, err
	}
	if len(after) > bodies.MaxSize {
		return nil, nil, patchedTooLarge()
	}
	refuse = func(why error) error { return refusal(string(after), why) }
	if err := quantity.CheckJSON(after); err != nil {
		return nil, nil, err
	}
	if err := r.checkNesting(bodies.Nesting, after); err != nil {
		return nil, nil, err
	}
	if unknown, err = r.decodePatched(after, into); err != nil {
		return nil, nil, refuse(err)
	}
	return unknown, refuse, nil
}

// fillMerged fills into with the result of a strategic merge patch. What the patch does not name has been checked.
func (r *call) fillMerged(current, into rest.Object, changes *patch.Patch, body []byte) (unknown []error, refuse func(error) error, err error) {
	if err := quantity.CheckJSON(body); err != nil {
		return nil, nil, err
	}
	after, err := changes.Merge(current, into)
	if err != nil {
		return nil, nil, err
	}
	if r.Resource.Recursive {
		text, err := json.Marshal(after)
		if err == nil {
			err = r.checkNesting(bodies.Nesting, text)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	refuse = func(why error) error {
		var members map[string]any
		_ = kjson.UnmarshalCaseSensitivePreserveInts(body, &members) // it is parsed
		return refusal(fmt.Sprintf("%+v", members), why)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(after, into, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		unknown = strict.Errors()
	} else if err != nil {
		return nil, nil, refuse(err)
	}
	if message, ok := into.(interface{ Size() int }); ok && message.Size() > bodies.MaxSize {
		return nil, nil, patchedTooLarge()
	}
	return unknown, refuse, nil
}

// decodePatched decodes the result of a patch of JSON, and returns the fields that its kind does not have.
func (r *call) decodePatched(text []byte, into rest.Object) (unknown []error, err error) {
	var named metav1.TypeMeta
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, err
	}
	kind, err := r.kindOf(named, text)
	if object, untyped := into.(*unstructured.Unstructured); untyped && err == nil {
		return r.Resource.Untyped.Decode(text, object)
	}
	if err == nil {
		err = r.isOfKind(kind)
	}
	if err != nil {
		return nil, err
	}
	return kjson.UnmarshalStrict(text, into)
}
