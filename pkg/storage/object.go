package storage

import (
	"errors"
	"sync"
	"sync/atomic"

	"kube2014/pkg/api"
	"kube2014/pkg/conversion"
)

// Object is one version of an object. It is immutable, and so is the api.Object in
// it. It caches its JSON in each version of the API.
type Object struct {
	api.Object
	texts atomic.Pointer[text]
	last  atomic.Pointer[Object] // see Event.Last
}

// text is an object's JSON in one version of the API, in a linked list. Many watches need it at
// the same time: one encodes it, the others wait.
type text struct {
	codec Encoder
	once  sync.Once
	item  []byte
	err   error
	size  atomic.Int64 // of the item, 0 until it is encoded
	next  *text
}

var errNotEncoded = errors.New("the object could not be encoded")

// Encoder encodes an internal object in a version of the API, as an item of a list. It must
// be comparable.
type Encoder interface {
	EncodeItem(object interface{}) ([]byte, error)
}

// NewObject takes ownership of an object, and sets its versions.
func NewObject(object api.Object, version, created uint64) *Object {
	meta := object.Meta()
	meta.ResourceVersion, meta.CreationVersion = version, created
	object.SetLabels(allLabels.share(object.GetLabels()))
	return &Object{Object: object}
}

// Version returns the version of the object's last change.
func (o *Object) Version() uint64 { return o.Meta().ResourceVersion }

// Item returns the object's JSON as an item of a list. It is encoded once.
func (o *Object) Item(codec Encoder) ([]byte, error) {
	t := o.textBy(codec)
	t.once.Do(func() {
		t.err = errNotEncoded // if EncodeItem panics
		t.item, t.err = codec.EncodeItem(o.Object)
		t.size.Store(int64(len(t.item)))
	})
	return t.item, t.err
}

// textBy returns the text for an encoder, and adds it if missing.
func (o *Object) textBy(codec Encoder) *text {
	for {
		first := o.texts.Load()
		for t := first; t != nil; t = t.next {
			if t.codec == codec {
				return t
			}
		}
		if fresh := (&text{codec: codec, next: first}); o.texts.CompareAndSwap(first, fresh) {
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
