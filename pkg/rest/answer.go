package rest

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/conversion"
	"kube2014/pkg/storage"
)

// storedAnswer implements Answer and Shared for a stored object. All answers share its cached JSON.
type storedAnswer struct {
	codec  *v1.Codec
	stored *storage.Object
}

// Stored returns a stored object as an answer.
func Stored(codec *v1.Codec, object *storage.Object) Answer { return storedAnswer{codec, object} }

func (a storedAnswer) Object() (runtime.Object, error) {
	if a.codec.Converts {
		item, err := a.stored.Item(a.codec)
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		err = object.UnmarshalJSON(item)
		object.SetManagedFields(v1.ManagedFields(a.stored.Object))
		return object, err
	}
	object, err := a.codec.Out(a.stored.Object)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(a.codec.Kind)
	object.(Object).SetManagedFields(v1.ManagedFields(a.stored.Object))
	return object, nil
}

func (a storedAnswer) Encode() (conversion.Encoded, error) {
	if a.isLarge() { // its JSON is not kept for the answer to one client
		item, err := a.codec.EncodeItem(a.stored.Object)
		return conversion.EncodedPieces(a.codec.Head, item[min(1, len(item)):], lineEnd), err
	}
	head, tail, err := a.Parts()
	if err != nil {
		return conversion.Encoded{}, err
	}
	return conversion.EncodedPieces(head, tail, lineEnd), nil
}

// isLarge reports whether an object is large, of a kind that June 2014 does not know, and not encoded yet.
func (a storedAnswer) isLarge() bool {
	whole, ok := a.stored.Object.(*api.Any)
	return ok && whole.Remainder.IsLarge() && !a.codec.Converts && !a.stored.HasItem(a.codec)
}

var lineEnd = []byte("\n")

// Shared is an answer with cached JSON.
type Shared interface {
	// Parts returns the two parts of its JSON, without a trailing line break.
	Parts() (head, tail []byte, err error)
}

func (a storedAnswer) Parts() (head, tail []byte, err error) {
	item, err := a.stored.Item(a.codec)
	if err != nil {
		return nil, nil, err
	}
	return a.codec.Head, item[1:], nil // an item has metadata, so it is not empty
}

// Metadata returns a part of the cached item, which begins with the metadata.
func (a storedAnswer) Metadata() ([]byte, error) {
	if a.isLarge() { // the garbage collector watches the metadata of all objects
		return v1.EncodeMetadata(a.stored.Object.(*api.Any))
	}
	item, err := a.stored.Item(a.codec)
	if err != nil {
		return nil, err
	}
	text, depth, quoted := item[len(a.codec.BeforeMetadata):], 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return text[:i+1], nil
			}
		}
	}
	return nil, errors.New("an item does not begin with its metadata")
}

// unstoredAnswer implements Answer for an object that was created for one request.
type unstoredAnswer struct{ object runtime.Object }

// MakeAnswer returns an object as an answer. Its kind must be set.
func MakeAnswer(object runtime.Object) Answer { return unstoredAnswer{object} }

func (m unstoredAnswer) Object() (runtime.Object, error) { return m.object, nil }

func (m unstoredAnswer) Encode() (conversion.Encoded, error) { return v1.Encode(m.object) }

func (m unstoredAnswer) Metadata() ([]byte, error) {
	accessor, err := meta.Accessor(m.object)
	if err != nil {
		return nil, nil // a status
	}
	return json.Marshal(meta.AsPartialObjectMetadata(accessor).ObjectMeta)
}
