package trace

import (
	"net/url"

	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
)

// RESTStorage traces a storage.
func (t *Tracer) RESTStorage(next apiserver.RESTStorage) apiserver.RESTStorage {
	return restStorage{t, next}
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

// DeleteAdmitted implements apiserver.AdmittedDeleter.
func (s restStorage) DeleteAdmitted(object api.Object) error {
	deleter, ok := s.next.(apiserver.AdmittedDeleter)
	if !ok {
		return s.Delete(object.Key().ID)
	}
	return s.t.write(called(s.next, "DeleteAdmitted", api.Quote(object.Key().ID)), func() error { return deleter.DeleteAdmitted(object) })
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

// query describes the query of a list's URL.
func query(u *url.URL) string {
	if u == nil {
		return ""
	}
	return cut(u.RawQuery, maxValue)
}
