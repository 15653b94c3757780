package storage

import (
	"sync/atomic"

	"kube2014/pkg/api"
	"kube2014/pkg/conversion"
)

// Object is one version of an object. It is immutable, and so is the api.Object in
// it. It keeps its JSON in each version of the API in which it was answered.
type Object struct {
	api.Object
	texts atomic.Pointer[text]
}

// text is the JSON of an object in one version of the API, and those in others.
type text struct {
	codec Encoder
	item  []byte
	next  *text
}

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
	for {
		first := o.texts.Load()
		for kept := first; kept != nil; kept = kept.next {
			if kept.codec == codec {
				return kept.item, nil
			}
		}
		item, err := codec.EncodeItem(o.Object)
		if err != nil {
			return nil, err
		}
		if o.texts.CompareAndSwap(first, &text{codec: codec, item: item, next: first}) {
			return item, nil
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
