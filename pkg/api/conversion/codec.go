package conversion

import (
	"bytes"
	"encoding/json"
	"iter"
	"reflect"
	"slices"

	"kube2014/pkg/api"
)

// Codec reads and writes the JSON of one version of the API. It is safe for
// concurrent use.
type Codec struct {
	scheme  *Scheme
	version string
	indent  string
}

// NewCodec returns the codec of a version of the scheme. Indent is the indentation
// of each level of its answers.
func NewCodec(scheme *Scheme, version, indent string) *Codec {
	return &Codec{scheme: scheme, version: version, indent: indent}
}

// Marshal returns the compact JSON of an internal object, as it is stored. Its errors
// are those of Scheme.ConvertToVersion, and of encoding/json.
func (c *Codec) Marshal(object interface{}) ([]byte, error) {
	out, err := c.scheme.ConvertToVersion(object, c.version)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// Unmarshal reads JSON into the internal object that into points to. An object
// that is not registered is read as its Go type.
func (c *Codec) Unmarshal(data []byte, into interface{}) error {
	if !c.scheme.Recognizes(into) {
		return json.Unmarshal(data, into)
	}
	structure, err := c.scheme.typeIn(c.version, into)
	if err != nil {
		return err
	}
	wire := reflect.New(structure).Interface()
	if err := json.Unmarshal(data, wire); err != nil {
		return err
	}
	return c.scheme.Convert(wire, into)
}

// Encodable is an object that caches its own JSON.
type Encodable interface {
	EncodedBy(*Codec) (Encoded, error)
}

// Encode returns an internal object's JSON for an answer. An Encodable object encodes
// itself; an object that is not registered has the JSON of its Go type. The error is an
// api.Internal one.
func (c *Codec) Encode(object interface{}) (Encoded, error) {
	if encodable, ok := object.(Encodable); ok {
		return encodable.EncodedBy(c)
	}
	text, err := c.marshalIndent(object, "", "")
	if err != nil {
		return Encoded{}, err
	}
	return EncodedBytes(text), nil
}

// marshalIndent returns the JSON of an object after a text, in a buffer of its own size.
func (c *Codec) marshalIndent(object interface{}, head, prefix string) ([]byte, error) {
	out, err := object, error(nil)
	if c.scheme.Recognizes(object) {
		out, err = c.scheme.ConvertToVersion(object, c.version)
	}
	var compact []byte
	if err == nil {
		compact, err = json.Marshal(out)
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text := bytes.NewBuffer(append((*buffer)[:0], head...))
	if err == nil {
		err = json.Indent(text, compact, prefix, c.indent)
	}
	if err != nil {
		return nil, &api.Error{Kind: api.Internal, Message: "the answer could not be encoded", Err: err}
	}
	*buffer = text.Bytes()
	return bytes.Clone(*buffer), nil
}

// Encoded is an object's JSON for an answer. Its encoder decides whether it ends with a line break.
type Encoded struct {
	Size   int              // the length of all pieces together, in bytes
	Pieces iter.Seq[[]byte] // created while they are sent; read-only
}

// EncodedBytes wraps a JSON text, which it does not copy.
func EncodedBytes(text []byte) Encoded {
	return Encoded{Size: len(text), Pieces: func(send func([]byte) bool) { send(text) }}
}

// EncodedPieces wraps a JSON text in pieces, which it does not copy.
func EncodedPieces(pieces ...[]byte) Encoded {
	size := 0
	for _, piece := range pieces {
		size += len(piece)
	}
	return Encoded{Size: size, Pieces: slices.Values(pieces)}
}

// Bytes returns the JSON in one piece.
func (e Encoded) Bytes() []byte {
	text := make([]byte, 0, e.Size)
	for piece := range e.Pieces {
		text = append(text, piece...)
	}
	return text
}
