package trace

import (
	"net/url"

	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/conversion"
)

// RESTStorage traces a storage.
func (t *Tracer) RESTStorage(next apiserver.RESTStorage) apiserver.RESTStorage {
	plain := restStorage{t, next}
	if encoded, ok := next.(apiserver.EncodedStorage); ok {
		return encodedStorage{plain, encoded}
	}
	return plain
}

type restStorage struct {
	t    *Tracer
	next apiserver.RESTStorage
}

func (s restStorage) List(u *url.URL) (interface{}, error) {
	return ask(s.t, called(s.next, "List", query(u)), words, func() (interface{}, error) { return s.next.List(u) })
}

func (s restStorage) Get(id string) (interface{}, error) {
	return ask(s.t, called(s.next, "Get", api.Quote(id)), words, func() (interface{}, error) { return s.next.Get(id) })
}

func (s restStorage) Delete(id string) error {
	return s.t.write(called(s.next, "Delete", api.Quote(id)), func() error { return s.next.Delete(id) })
}

func (s restStorage) Extract(body string) (interface{}, error) {
	return ask(s.t, called(s.next, "Extract", counted(len(body), "byte")), words, func() (interface{}, error) { return s.next.Extract(body) })
}

func (s restStorage) Create(object interface{}) error {
	return s.t.write(called(s.next, "Create", words(object)), func() error { return s.next.Create(object) })
}

func (s restStorage) Update(object interface{}) error {
	return s.t.write(called(s.next, "Update", words(object)), func() error { return s.next.Update(object) })
}

type encodedStorage struct {
	restStorage
	next apiserver.EncodedStorage
}

func (s encodedStorage) ListEncoded(u *url.URL) (conversion.Encoded, error) {
	return ask(s.t, called(s.next, "ListEncoded", query(u)), encodedWords, func() (conversion.Encoded, error) { return s.next.ListEncoded(u) })
}

func (s encodedStorage) GetEncoded(id string) (conversion.Encoded, error) {
	return ask(s.t, called(s.next, "GetEncoded", api.Quote(id)), encodedWords, func() (conversion.Encoded, error) { return s.next.GetEncoded(id) })
}

func encodedWords(encoded conversion.Encoded) string { return words(encoded) }

// query describes the query of a list's URL.
func query(u *url.URL) string {
	if u == nil {
		return ""
	}
	return cut(u.RawQuery, maxValue)
}
