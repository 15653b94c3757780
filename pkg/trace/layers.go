package trace

import (
	"cmp"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/client"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
)

// RESTStorage traces a storage.
func (t *Tracer) RESTStorage(next apiserver.RESTStorage) apiserver.RESTStorage {
	return orNext[apiserver.RESTStorage](t, next, restStorage{t, next})
}

type restStorage struct {
	t    *Tracer
	next apiserver.RESTStorage
}

func (s restStorage) List(u *url.URL) (interface{}, error) {
	return traceValue(s.t, called(s.next, "List", u.RawQuery), func() (interface{}, error) { return s.next.List(u) })
}

func (s restStorage) Get(id string) (interface{}, error) {
	return traceValue(s.t, called(s.next, "Get", api.Quote(id)), func() (interface{}, error) { return s.next.Get(id) })
}

func (s restStorage) Delete(id string) error {
	return s.t.traceError(called(s.next, "Delete", api.Quote(id)), func() error { return s.next.Delete(id) })
}

// DeleteAdmitted implements apiserver.AdmittedDeleter.
func (s restStorage) DeleteAdmitted(object api.Object) error {
	deleter, ok := s.next.(apiserver.AdmittedDeleter)
	if !ok {
		return s.Delete(object.Key().ID)
	}
	return s.t.traceError(called(s.next, "DeleteAdmitted", words(object)), func() error { return deleter.DeleteAdmitted(object) })
}

func (s restStorage) Extract(body string) (interface{}, error) {
	return traceValue(s.t, called(s.next, "Extract", counted(len(body), "byte")), func() (interface{}, error) { return s.next.Extract(body) })
}

func (s restStorage) Create(object interface{}) error {
	return s.t.traceError(called(s.next, "Create", words(object)), func() error { return s.next.Create(object) })
}

func (s restStorage) Update(object interface{}) error {
	return s.t.traceError(called(s.next, "Update", words(object)), func() error { return s.next.Update(object) })
}

// Scheduler traces a scheduler.
func (t *Tracer) Scheduler(next registry.Scheduler) registry.Scheduler {
	return orNext[registry.Scheduler](t, next, scheduler{t, next})
}

type scheduler struct {
	t    *Tracer
	next registry.Scheduler
}

func (s scheduler) Schedule(task api.Task) (machine string, err error) {
	_, err = traceValue(s.t, called(s.next, "Schedule", words(task)), func() (string, error) {
		machine, err = s.next.Schedule(task)
		return "machine " + machine, err
	})
	return machine, err
}

// Store traces a store, but not its watches.
func (t *Tracer) Store(next storage.Interface) storage.Interface {
	return orNext[storage.Interface](t, next, store{reader{next, t}, next})
}

type store struct {
	reader
	next storage.Interface
}

// Untraced returns the store behind a traced one, for what would only distract a reader. Any other store is its own.
func Untraced(objects storage.Interface) storage.Interface {
	if traced, isTraced := objects.(store); isTraced {
		return traced.next
	}
	return objects
}

func (s store) Cached() storage.Reader { return reader{s.next.Cached(), s.t} }

func (s store) Commit(changes ...storage.Change) (written []*storage.Object, err error) {
	s.t.change()
	var arguments []string
	for _, change := range changes {
		words := verb(change) + " " + named(change.Key)
		if change.Action == storage.Write && change.TTL > 0 {
			words += " for " + change.TTL.String()
		}
		arguments = append(arguments, words)
	}
	err = s.t.traceError(called(s.next, "Commit", arguments...), func() error {
		written, err = s.next.Commit(changes...)
		return err
	})
	return written, err
}

// verb describes a change.
func verb(change storage.Change) string {
	switch {
	case change.Action != storage.Write:
		return string(change.Action)
	case change.Expected == storage.Absent:
		return "create"
	case change.Expected == storage.Any || change.Expected == storage.Blind:
		return "create or replace"
	}
	return "replace"
}

type reader struct {
	storage.Reader
	t *Tracer
}

func (r reader) Get(key api.Key) (*storage.Object, error) {
	return traceValue(r.t, called(r.Reader, "Get", named(key)), func() (*storage.Object, error) { return r.Reader.Get(key) })
}

func (r reader) List(selection storage.Selection) (*storage.List, error) {
	which := cmp.Or(client.EncodeLabelQuery(selection.Labels), "all")
	if selection.Machine != "" {
		which += " on " + selection.Machine
	}
	return traceValue(r.t, called(r.Reader, "List", string(selection.Kind), which), func() (*storage.List, error) { return r.Reader.List(selection) })
}

func (r reader) ListAt(selection storage.Selection, version uint64) (*storage.List, error) {
	return traceValue(r.t, called(r.Reader, "ListAt", string(selection.Kind), strconv.FormatUint(version, 10)),
		func() (*storage.List, error) { return r.Reader.ListAt(selection, version) })
}

func (r reader) FirstFree(candidates iter.Seq[api.Object]) (api.Object, error) {
	var machines []string
	for candidate := range candidates {
		if placed, ok := candidate.(api.Placed); ok {
			machines = append(machines, placed.Machine())
		}
	}
	return traceValue(r.t, called(r.Reader, "FirstFree", cut(strings.Join(machines, ", "), maxValue)), func() (api.Object, error) { return r.Reader.FirstFree(candidates) })
}
