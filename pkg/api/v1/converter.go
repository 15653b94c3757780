package v1

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1/versions"
)

// Converter converts the stored objects of one kind. It is safe for concurrent use.
type Converter interface {
	// New returns an empty object of the API.
	New() runtime.Object
	// ToVersioned converts a stored object to the API, but its managed fields. It does not set the kind. The two share memory.
	ToVersioned(object api.Object) (runtime.Object, error)
	// ToInternal converts an object of the API to its stored form. It does not change the object; the two share memory.
	ToInternal(object runtime.Object) (api.Object, error)
}

// NewConverter returns the converter of a kind of the API, whose type the scheme must have.
func NewConverter(kind schema.GroupVersionKind, stored api.Kind, scheme *runtime.Scheme) Converter {
	one := oneVersion{kind, stored, scheme}
	switch stored {
	case api.TaskKind, api.ControllerKind, api.ServiceKind, api.EndpointsKind:
		return inTwoVersions{one}
	}
	if storedKind := versions.StoredAs(kind, scheme); storedKind != kind {
		return inStoredVersion{one, oneVersion{storedKind, stored, scheme}}
	}
	return one
}

// oneVersion implements Converter for a kind that June 2014 does not know: all but the metadata is remainder.
type oneVersion struct {
	kind   schema.GroupVersionKind
	stored api.Kind
	scheme *runtime.Scheme
}

func (c oneVersion) New() runtime.Object {
	object, err := c.scheme.New(c.kind)
	utilruntime.Must(err) // fails only if the row of the kind is wrong
	return object
}

func (c oneVersion) ToVersioned(object api.Object) (runtime.Object, error) {
	whole, out := object.(*api.Any), c.New()
	if err := decodeRemainder(whole, out); err != nil {
		return nil, err
	}
	meta := metaOf(out)
	outMeta(meta, whole)
	meta.Labels = whole.Labels
	c.scheme.Default(out)
	return out, nil
}

func (c oneVersion) ToInternal(object runtime.Object) (api.Object, error) {
	rest := reflect.New(reflect.TypeOf(object).Elem())
	rest.Elem().Set(reflect.ValueOf(object).Elem())
	own := rest.Interface().(runtime.Object)
	own.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	meta := metaOf(own)
	in := &api.Any{Kind: c.stored, ID: meta.Name, Labels: meta.Labels}
	in.ObjectMeta, *meta = inMeta(*meta)
	meta.Labels = nil
	var err error
	in.Remainder, err = encodeRest(own)
	return in, err
}

// metaOf returns the metadata of an object itself, not a copy.
func metaOf(object runtime.Object) *metav1.ObjectMeta {
	return object.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// inTwoVersions implements Converter for a kind that June 2014 knows too.
type inTwoVersions struct{ oneVersion }

func (c inTwoVersions) ToVersioned(object api.Object) (runtime.Object, error) {
	converted, err := twoVersions.ConvertToVersion(object, c.kind.Version)
	if err != nil {
		return nil, err
	}
	return converted.(runtime.Object), nil
}

func (c inTwoVersions) ToInternal(object runtime.Object) (api.Object, error) {
	converted, err := twoVersions.ConvertToVersion(object, conversion.Internal)
	if err != nil {
		return nil, err
	}
	in := converted.(api.Object)
	if meta := in.Meta(); meta.Namespace == Namespace {
		meta.Namespace = "" // as in objects of June 2014
	}
	return in, nil
}

// inStoredVersion implements Converter for a kind whose objects are stored as those of another version, or of another
// group.
type inStoredVersion struct{ own, stored oneVersion }

func (c inStoredVersion) New() runtime.Object { return c.own.New() }

func (c inStoredVersion) ToVersioned(object api.Object) (runtime.Object, error) {
	stored, err := c.stored.ToVersioned(object)
	if err != nil {
		return nil, err
	}
	return versions.FromStored(stored, c.own.kind.GroupVersion())
}

func (c inStoredVersion) ToInternal(object runtime.Object) (api.Object, error) {
	stored, err := versions.ToStored(object)
	if err != nil {
		return nil, err
	}
	return c.stored.ToInternal(stored)
}

// Codec encodes the stored objects of a kind as JSON of the API. storage.Object caches the JSON by codec. A codec
// is safe for concurrent use.
type Codec struct {
	Converter
	Kind schema.GroupVersionKind
	Head []byte // the beginning of each object's JSON; its item follows, without the opening brace
	// BeforeMetadata is what each item begins with; the JSON of its metadata follows.
	BeforeMetadata []byte
	// Envelope is what each object in protobuf begins with: see EnvelopeOf. Nil if the kind has no form in protobuf.
	Envelope []byte
	// Converts means that a webhook may convert the objects: it converts each once, and answers are made of its JSON.
	Converts bool

	identity *identity
}

// identity tells codecs apart. It is not empty, so that no two have one address.
type identity struct{ _ bool }

// NewCodec returns the codec of a kind of the API, whose type the scheme must have.
func NewCodec(kind schema.GroupVersionKind, stored api.Kind, scheme *runtime.Scheme) *Codec {
	codec := &Codec{Converter: NewConverter(kind, stored, scheme), Kind: kind, Head: []byte(headOf(kind.GroupVersion().String(), kind.Kind)),
		BeforeMetadata: []byte(`{"metadata":`), identity: &identity{}}
	if object, err := scheme.New(kind); err == nil && hasMessage(object) {
		codec.Envelope = EnvelopeOf(kind)
	}
	return codec
}

// Decodes reports whether ToVersioned decodes the whole object, but its labels and annotations, anew.
func (c *Codec) Decodes() bool {
	switch c.Converter.(type) {
	case oneVersion, withoutType:
		return true
	}
	return false
}

// Identity implements storage.Encoder.
func (c *Codec) Identity() any { return c.identity }

// EncodeItem returns a stored object's compact JSON as an item of a list: without its kind, unless it has no Go type, and without its
// managed fields.
func (c *Codec) EncodeItem(object interface{}) ([]byte, error) {
	converted, err := c.ToVersioned(object.(api.Object))
	if err != nil {
		return nil, err
	}
	if own, ok := converted.(*unstructured.Unstructured); ok {
		return c.EncodeUnstructured(own)
	}
	return json.Marshal(converted)
}
