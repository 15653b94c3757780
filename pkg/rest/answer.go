package rest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/conversion"
	"kube2014/pkg/storage"
)

// storedAnswer is an object that is stored. Its JSON is made once for all answers.
type storedAnswer struct {
	kind   schema.GroupVersionKind
	codec  v1.Codec
	stored *storage.Object
}

// Object implements Answer.
func (a storedAnswer) Object() (runtime.Object, error) {
	object, err := a.shared()
	if err != nil {
		return nil, err
	}
	return object.DeepCopyObject(), nil
}

// shared returns the object, which shares maps with the stored one.
func (a storedAnswer) shared() (runtime.Object, error) {
	converted, err := a.codec.Scheme.ConvertToVersion(a.stored.Object, a.kind.GroupVersion().String())
	if err != nil {
		return nil, err
	}
	object := converted.(Object)
	object.GetObjectKind().SetGroupVersionKind(a.kind)
	return object, nil
}

// Encode implements Answer.
func (a storedAnswer) Encode() (conversion.Encoded, error) {
	item, err := a.stored.Item(a.codec)
	if err != nil {
		return conversion.Encoded{}, err
	}
	return v1.EncodeOne(a.kind.GroupVersion().String(), a.kind.Kind, item), nil
}

// made is an answer that was made for one request.
type made struct{ object runtime.Object }

// MakeAnswer returns an object, which has its kind set, as an answer.
func MakeAnswer(object runtime.Object) Answer { return made{object} }

// Object implements Answer.
func (m made) Object() (runtime.Object, error) { return m.object, nil }

// Encode implements Answer.
func (m made) Encode() (conversion.Encoded, error) { return v1.Encode(m.object) }
