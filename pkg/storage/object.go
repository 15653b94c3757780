package storage

import (
	"errors"
	"sync"
	"sync/atomic"

	"kube2014/pkg/api"
	"kube2014/pkg/conversion"
)

// Object is one version of an object. It is immutable, and so is the api.Object in
// it. It keeps its JSON in each version of the API in which it was answered.
type Object struct {
	api.Object
	texts atomic.Pointer[text]
	last  atomic.Pointer[Object] // see Event.Last
}

// text is the JSON of an object in one version of the API, and those in others. Many who
// watch want it at the same time: one makes it, the others wait.
type text struct {
	codec Encoder
	once  sync.Once
	item  []byte
	err   error
	size  atomic.Int64 // of the item, 0 until it is made
	next  *text
}

var errNotEncoded = errors.New("the object could not be encoded")

// Encoder makes the JSON of an internal object in a version of the API, as an item of a
// list. It is comparable.
type Encoder interface {
	EncodeItem(object interface{}) ([]byte, error)
}

// NewObject sets the versions of an object, which it owns from then on.
func NewObject(object api.Object, version, created uint64) *Object {
	meta := object.Meta()
	meta.ResourceVersion, meta.CreationVersion = version, created
	return &Object{Object: object}
}

// Version returns the version of the object's last change.
func (o *Object) Version() uint64 { return o.Meta().ResourceVersion }

// Item returns the object's JSON as an item of a list. It is made once.
func (o *Object) Item(codec Encoder) ([]byte, error) {
	kept := o.textBy(codec)
	kept.once.Do(func() {
		kept.err = errNotEncoded // if it panics
		kept.item, kept.err = codec.EncodeItem(o.Object)
		kept.size.Store(int64(len(kept.item)))
	})
	return kept.item, kept.err
}

// textBy returns the place of the JSON that an encoder makes.
func (o *Object) textBy(codec Encoder) *text {
	for {
		first := o.texts.Load()
		for kept := first; kept != nil; kept = kept.next {
			if kept.codec == codec {
				return kept
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

// List is the objects of a kind, or those of them that carry some labels, as of one
// version of the store.
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
