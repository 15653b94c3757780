package apiserver

import (
	"net/url"

	"kube2014/pkg/conversion"
)

// EncodedStorage is an optional interface of a RESTStorage that keeps its
// objects as JSON and need not encode them for each answer.
type EncodedStorage interface {
	RESTStorage
	// ListEncoded returns the JSON of what List returns.
	ListEncoded(*url.URL) (conversion.Encoded, error)
	// GetEncoded returns the JSON of what Get returns.
	GetEncoded(id string) (conversion.Encoded, error)
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
