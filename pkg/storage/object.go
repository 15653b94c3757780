package storage

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
)

// Object is one version of an object. It is immutable, and so is the api.Object in
// it. It caches its JSON in each version of the API.
type Object struct {
	api.Object
	name  string
	texts atomic.Pointer[text]
	last  atomic.Pointer[Object] // see Event.Last
}

// text is an object's JSON in one version of the API, in a linked list. Many watches need it at
// the same time: one encodes it, the others wait.
type text struct {
	of      any // the identity of the encoder
	first   encoding
	encoded atomic.Pointer[encoding] // the last attempt, not nil
	next    *text
}

// encoding is an attempt to encode an object. One that fails is replaced: a webhook that converts the object may have been
// away.
type encoding struct {
	once sync.Once
	item []byte
	err  error
	size atomic.Int64 // of the item, 0 until it is encoded
}

var errNotEncoded = errors.New("the object could not be encoded")

// Encoder encodes an internal object in a version of the API, as an item of a list.
type Encoder interface {
	EncodeItem(object interface{}) ([]byte, error)
	// Identity returns a small value that no other encoder has. It must be comparable. Objects keep it, also when the encoder
	// is not used any more.
	Identity() any
}

// maxTexts bounds the texts of an object: a CustomResourceDefinition that changes has new encoders each time.
const maxTexts = 16

// NewObject takes ownership of an object, and sets its versions.
func NewObject(object api.Object, version, created uint64) *Object {
	meta := object.Meta()
	meta.ResourceVersion, meta.CreationVersion = version, created
	api.Share(object)
	return &Object{Object: object, name: nameOf(object)}
}

// Copy returns an object with metadata of its own, which shares all other values that the object points to.
func Copy(object api.Object) api.Object {
	copied := reflect.New(reflect.TypeOf(object).Elem())
	copied.Elem().Set(reflect.ValueOf(object).Elem())
	return copied.Interface().(api.Object)
}

// nameOf returns the name of an object, see Object.Name.
func nameOf(object api.Object) string {
	name := NamePrefix(object.Key())
	if placed, ok := object.(api.Placed); ok {
		name += placed.Twin()
	}
	return name
}

// NamePrefix returns the common prefix of the names of all objects of a key, and of no others.
func NamePrefix(key api.Key) string { return key.Namespace + "\x00" + key.ID + "\x00" }

// Name returns a name that is unique within a kind. Names sort by namespace, then by id.
func (o *Object) Name() string { return o.name }

// Version returns the version of the object's last change.
func (o *Object) Version() uint64 { return o.Meta().ResourceVersion }

// Item returns the object's JSON as an item of a list. It is encoded once.
func (o *Object) Item(codec Encoder) ([]byte, error) {
	t := o.textBy(codec)
	e := t.encoded.Load()
	e.once.Do(func() {
		e.err = errNotEncoded // if EncodeItem panics
		e.item, e.err = codec.EncodeItem(o.Object)
		e.size.Store(int64(len(e.item)))
	})
	if e.err != nil {
		t.encoded.CompareAndSwap(e, &encoding{})
	}
	return e.item, e.err
}

// EncodedSize returns the size of all JSON of the object, in bytes.
func (o *Object) EncodedSize() (size int) {
	for t := o.texts.Load(); t != nil; t = t.next {
		size += int(t.encoded.Load().size.Load())
	}
	return size
}

// HasItem reports whether the object has been encoded by a codec.
func (o *Object) HasItem(codec Encoder) bool { return o.textBy(codec).encoded.Load().size.Load() > 0 }

// SetItem sets the JSON of the object by a codec, unless it has been encoded. It takes ownership of the JSON.
func (o *Object) SetItem(codec Encoder, item []byte) {
	e := o.textBy(codec).encoded.Load()
	e.once.Do(func() {
		e.item = item
		e.size.Store(int64(len(item)))
	})
}

// textBy returns the text for an encoder, and adds it if missing.
func (o *Object) textBy(codec Encoder) *text {
	of := codec.Identity()
	for {
		first, n := o.texts.Load(), 0
		for t := first; t != nil; t = t.next {
			if t.of == of {
				return t
			}
			n++
		}
		fresh := &text{of: of}
		if n < maxTexts { // else it begins anew
			fresh.next = first
		}
		fresh.encoded.Store(&fresh.first)
		if o.texts.CompareAndSwap(first, fresh) {
			return fresh
		}
	}
}

// EncodedBy implements conversion.Encodable.
func (o *Object) EncodedBy(codec *conversion.Codec) (conversion.Encoded, error) {
	item, err := o.Item(codec)
	if err != nil {
		return conversion.Encoded{}, err
	}
	return codec.EncodeOne(item), nil
}

// List holds selected objects of a kind, as of one version of the store.
type List struct {
	Kind    api.Kind
	Version uint64
	Items   []*Object
}

// EncodedBy implements conversion.Encodable.
func (l *List) EncodedBy(codec *conversion.Codec) (conversion.Encoded, error) {
	if len(l.Items) == 0 {
		return codec.Encode(api.EmptyList(l.Kind))
	}
	items := make([][]byte, len(l.Items))
	for i, object := range l.Items {
		item, err := object.Item(codec)
		if err != nil {
			return conversion.Encoded{}, err
		}
		items[i] = item
	}
	return codec.EncodeList(items), nil
}
