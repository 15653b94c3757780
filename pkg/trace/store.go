package trace

import (
	"strconv"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Store traces a store.
func (t *Tracer) Store(next storage.Interface) storage.Interface {
	return store{reader{t, next}, next}
}

type store struct {
	reader
	store storage.Interface
}

func (s store) Cached() storage.Reader { return reader{s.t, s.store.Cached()} }

func (s store) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	s.t.change()
	var told []string
	for _, change := range changes {
		words := verb(change) + " " + named(string(change.Kind), change.ID)
		if change.Action == storage.Write && change.TTL > 0 {
			words += " for " + change.TTL.String()
		}
		told = append(told, words)
	}
	return ask(s.t, called(s.store, "Commit", told...), func([]*storage.Object) string { return "ok" },
		func() ([]*storage.Object, error) { return s.store.Commit(changes...) })
}

// verb says what a change does.
func verb(change storage.Change) string {
	switch {
	case change.Action == storage.Write && change.Expected == storage.Absent:
		return "create"
	case change.Action == storage.Write && (change.Expected == storage.Any || change.Expected == storage.Blind):
		return "create or replace"
	case change.Action == storage.Write:
		return "replace"
	}
	return string(change.Action)
}

type reader struct {
	t    *Tracer
	next storage.Reader
}

func (r reader) Get(kind api.Kind, id string) (*storage.Object, error) {
	return ask(r.t, called(r.next, "Get", named(string(kind), id)), func(object *storage.Object) string { return words(object) },
		func() (*storage.Object, error) { return r.next.Get(kind, id) })
}

func (r reader) List(kind api.Kind, query map[string]string) (*storage.List, error) {
	return ask(r.t, called(r.next, "List", string(kind), labels(query)), func(list *storage.List) string { return words(list) },
		func() (*storage.List, error) { return r.next.List(kind, query) })
}

func (r reader) ListAt(kind api.Kind, version uint64) (*storage.List, error) {
	return ask(r.t, called(r.next, "ListAt", string(kind), strconv.FormatUint(version, 10)), func(list *storage.List) string { return words(list) },
		func() (*storage.List, error) { return r.next.ListAt(kind, version) })
}

func (r reader) FirstFree(machines []string, task api.Task) (string, error) {
	return ask(r.t, called(r.next, "FirstFree", machinesWords(machines), words(task)), machineWords,
		func() (string, error) { return r.next.FirstFree(machines, task) })
}

func (r reader) Version() (uint64, error) { return r.next.Version() }

func (r reader) Watch(kind api.Kind, after uint64) (storage.Watcher, error) {
	return r.next.Watch(kind, after)
}
