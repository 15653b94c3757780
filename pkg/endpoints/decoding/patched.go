package decoding

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"kube2014/pkg/api/v1/patch"
	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/rest"
	"kube2014/pkg/util/quantity"
)

// Today's server decodes the result of a strategic merge from a map, ignores its kind, and shows
// the patch in errors. The result of another patch is JSON: it is decoded like a body, and shown
// in errors.

// Patched fills into with the patched object. It returns the unknown fields of the object, and a function that makes an
// error of one which shows what was patched.
func (d Decoder) Patched(current, into rest.Object, changes *patch.Patch, body []byte) (unknown []error, refuse func(error) error, err error) {
	if changes.Merges() {
		return d.fillMerged(current, into, changes, body)
	}
	return d.fillEdited(current, into, changes)
}

// refusal returns the error about a patched object, which it shows.
func refusal(shown string, why error) error {
	return rest.Invalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), shown, why.Error())})
}

func patchedTooLarge() error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the patched object has more than %d bytes", bodies.MaxSize))
}

// fillEdited fills into with the result of a patch of JSON.
func (d Decoder) fillEdited(current, into rest.Object, changes *patch.Patch) (unknown []error, refuse func(error) error, err error) {
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
	if err := d.checkNesting(bodies.Nesting, after); err != nil {
		return nil, nil, err
	}
	if unknown, err = d.decodePatched(after, into); err != nil {
		return nil, nil, refuse(err)
	}
	return unknown, refuse, nil
}

// fillMerged fills into with the result of a strategic merge patch. What the patch does not name has been checked.
func (d Decoder) fillMerged(current, into rest.Object, changes *patch.Patch, body []byte) (unknown []error, refuse func(error) error, err error) {
	if err := quantity.CheckJSON(body); err != nil {
		return nil, nil, err
	}
	after, err := changes.Merge(current, into)
	if err != nil {
		return nil, nil, err
	}
	if d.Resource.Recursive {
		text, err := json.Marshal(after)
		if err == nil {
			err = d.checkNesting(bodies.Nesting, text)
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
func (d Decoder) decodePatched(text []byte, into rest.Object) (unknown []error, err error) {
	var named metav1.TypeMeta
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, err
	}
	kind, err := d.kindOf(named, text)
	if object, untyped := into.(*unstructured.Unstructured); untyped && err == nil {
		return d.Resource.Untyped.Decode(text, object)
	}
	if err == nil {
		err = d.isOfKind(kind)
	}
	if err != nil {
		return nil, err
	}
	return kjson.UnmarshalStrict(text, into)
}
