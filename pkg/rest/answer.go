package rest

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/storage"
)

// storedAnswer implements Answer and Shared for a stored object. All answers share its cached JSON.
type storedAnswer struct {
	codec  *v1.Codec
	stored *storage.Object
}

// StoredAnswer returns a stored object as an answer.
func StoredAnswer(codec *v1.Codec, object *storage.Object) Answer { return storedAnswer{codec, object} }

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
	object, err := a.codec.ToVersioned(a.stored.Object)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(a.codec.Kind)
	object.(Object).SetManagedFields(v1.ManagedFields(a.stored.Object))
	return object, nil
}

// item returns what an encoder makes of the object. For the answer to one client it is not kept if the object is large.
func (a storedAnswer) item(encoder storage.Encoder, forOne bool) ([]byte, error) {
	if forOne && a.isLarge(encoder) {
		return encoder.EncodeItem(a.stored.Object)
	}
	return a.stored.Item(encoder)
}

// isLarge reports whether an object is large, of a kind that June 2014 does not know, and not encoded yet.
func (a storedAnswer) isLarge(encoder storage.Encoder) bool {
	whole, ok := a.stored.Object.(*api.Any)
	return ok && whole.Remainder.IsLarge() && !a.codec.Converts && !a.stored.HasItem(encoder)
}

// addJSON adds the parts of the object's JSON as an item of a list. All answers and events get it here.
func (a storedAnswer) addJSON(parts *conversion.Parts, forOne bool) error {
	item, err := a.item(a.codec, forOne)
	if err != nil || len(a.stored.Meta().ManagedFields) == 0 {
		parts.Add(item)
		return err
	}
	end, err := a.endOfMetadata(item)
	parts.Add(item[:end])
	parts.Make(func(text []byte) []byte { return v1.AppendManagedFieldsJSON(text, a.stored.Object) })
	parts.Add(item[end:])
	return err
}

func (a storedAnswer) Derived(name string, derive func() ([]byte, error)) ([]byte, error) {
	return a.stored.Item(derived{identityOfDerived{a.codec.Identity(), name}, derive})
}

// derived implements storage.Encoder.
type derived struct {
	identity identityOfDerived
	derive   func() ([]byte, error)
}

// identityOfDerived is that of a codec with a name.
type identityOfDerived struct {
	codec any
	name  string
}

func (d derived) Identity() any { return d.identity }

func (d derived) EncodeItem(interface{}) ([]byte, error) { return d.derive() }

// endOfMetadata returns where the last brace of the metadata in an item is.
func (a storedAnswer) endOfMetadata(item []byte) (int, error) {
	depth, quoted := 0, false
	for i := len(a.codec.BeforeMetadata); i < len(item); i++ {
		switch c := item[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i, nil
			}
		}
	}
	return len(item), errors.New("an item does not begin with its metadata")
}

func (a storedAnswer) Encode() (conversion.Encoded, error) {
	var parts conversion.Parts
	err := a.addWhole(&parts, true)
	return conversion.EncodedPieces(append(parts.All, lineEnd)...), err
}

var lineEnd = []byte("\n")

// addWhole adds the parts of the object's JSON with its kind.
func (a storedAnswer) addWhole(parts *conversion.Parts, forOne bool) error {
	parts.Add(a.codec.Head)
	item := len(parts.All)
	err := a.addJSON(parts, forOne)
	if err == nil {
		parts.All[item] = parts.All[item][1:] // an item has metadata, so it is not empty
	}
	return err
}

// Shared is an answer with cached JSON.
type Shared interface {
	// AddJSON adds the parts of its JSON, without a trailing line break.
	AddJSON(parts *conversion.Parts) error
}

func (a storedAnswer) AddJSON(parts *conversion.Parts) error { return a.addWhole(parts, false) }

// AddMessage adds the message, which begins with the metadata. All answers and events get it here.
func (a storedAnswer) AddMessage(parts *conversion.Parts, forOne bool) (envelope []byte, err error) {
	item, err := a.item(v1.Protobuf{Codec: a.codec}, forOne)
	parts.Add(item)
	parts.Make(func(text []byte) []byte { return v1.AppendManagedFieldsMessage(text, a.stored.Object) })
	return a.codec.Envelope, err
}

// AddMetadata adds the beginning of the message, unless the kind has none.
func (a storedAnswer) AddMetadata(parts *conversion.Parts) error {
	if a.codec.Envelope == nil || a.isLarge(v1.Protobuf{Codec: a.codec}) {
		return addMetadata(parts, a)
	}
	metadata := len(parts.All)
	_, err := a.AddMessage(parts, false)
	if err == nil {
		parts.All[metadata] = v1.FirstField(parts.All[metadata])
	}
	return err
}

// addMetadata implements AddMetadata with the JSON of the metadata.
func addMetadata(parts *conversion.Parts, a Answer) error {
	text, err := a.Metadata(nil)
	if err != nil || len(text) == 0 {
		return err
	}
	var partial metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &partial.ObjectMeta); err != nil {
		return err
	}
	message, err := partial.Marshal()
	parts.Add(message)
	return err
}

// Metadata appends a part of the cached item, which begins with the metadata.
func (a storedAnswer) Metadata(text []byte) ([]byte, error) {
	if a.isLarge(a.codec) { // the garbage collector watches the metadata of all objects
		metadata, err := v1.EncodeMetadata(a.stored.Object.(*api.Any))
		return append(text, metadata...), err
	}
	item, err := a.stored.Item(a.codec)
	if err != nil {
		return nil, err
	}
	end, err := a.endOfMetadata(item)
	if err != nil {
		return nil, err
	}
	text = append(text, item[len(a.codec.BeforeMetadata):end]...)
	return append(v1.AppendManagedFieldsJSON(text, a.stored.Object), '}'), nil
}

// unstoredAnswer implements Answer for an object that was created for one request.
type unstoredAnswer struct{ object runtime.Object }

// MakeAnswer returns an object as an answer. Its kind must be set.
func MakeAnswer(object runtime.Object) Answer { return unstoredAnswer{object} }

func (m unstoredAnswer) Object() (runtime.Object, error) { return m.object, nil }

func (m unstoredAnswer) Derived(_ string, derive func() ([]byte, error)) ([]byte, error) {
	return derive()
}

func (m unstoredAnswer) Encode() (conversion.Encoded, error) { return v1.Encode(m.object) }

func (m unstoredAnswer) AddMessage(parts *conversion.Parts, _ bool) (envelope []byte, err error) {
	text, err := v1.EncodeMessage(m.object)
	parts.Add(text)
	return v1.EnvelopeOf(m.object.GetObjectKind().GroupVersionKind()), err
}

func (m unstoredAnswer) AddMetadata(parts *conversion.Parts) error { return addMetadata(parts, m) }

func (m unstoredAnswer) Metadata(text []byte) ([]byte, error) {
	accessor, err := meta.Accessor(m.object)
	if err != nil {
		return text, nil // a status
	}
	metadata, err := json.Marshal(meta.AsPartialObjectMetadata(accessor).ObjectMeta)
	return append(text, metadata...), err
}
