package apiserver

import (
	"encoding/json"
	"iter"
	"net/url"

	"kube2014/pkg/api"
)

// Encoded is an object's JSON as it is answered: indented by four spaces, without
// a line break at its end.
type Encoded struct {
	Size   int              // the length of all pieces together
	Pieces iter.Seq[[]byte] // made while they are sent; read-only
}

// Encode encodes an object.
func Encode(object interface{}) (Encoded, error) {
	text, err := json.MarshalIndent(object, "", "    ")
	if err != nil {
		return Encoded{}, &api.Error{Kind: api.Internal, Message: "the answer could not be encoded", Err: err}
	}
	return EncodedBytes(text), nil
}

// EncodedBytes wraps a JSON text, which it does not copy.
func EncodedBytes(text []byte) Encoded {
	return Encoded{Size: len(text), Pieces: func(send func([]byte) bool) { send(text) }}
}

// Bytes returns the JSON in one piece.
func (e Encoded) Bytes() []byte {
	text := make([]byte, 0, e.Size)
	for piece := range e.Pieces {
		text = append(text, piece...)
	}
	return text
}

// EncodedStorage is an optional interface of a RESTStorage that keeps its
// objects as JSON and need not encode them for each answer.
type EncodedStorage interface {
	RESTStorage
	// ListEncoded returns the JSON of what List returns.
	ListEncoded(*url.URL) (Encoded, error)
	// GetEncoded returns the JSON of what Get returns.
	GetEncoded(id string) (Encoded, error)
}

// list returns a storage's collection, as an Encoded if the storage has it.
func list(storage RESTStorage, u *url.URL) (interface{}, error) {
	if encoded, ok := storage.(EncodedStorage); ok {
		return encoded.ListEncoded(u)
	}
	return storage.List(u)
}

// get returns an object of a storage, as an Encoded if the storage has it.
func get(storage RESTStorage, id string) (interface{}, error) {
	if encoded, ok := storage.(EncodedStorage); ok {
		return encoded.GetEncoded(id)
	}
	return storage.Get(id)
}
