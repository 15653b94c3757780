package trace

import (
	"iter"
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
		words := verb(change) + " " + named(string(change.Key.Kind), change.Key.ID)
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

func (r reader) Get(key api.Key) (*storage.Object, error) {
	return ask(r.t, called(r.next, "Get", named(string(key.Kind), key.ID)), func(object *storage.Object) string { return words(object) },
		func() (*storage.Object, error) { return r.next.Get(key) })
}

func (r reader) List(selection storage.Selection) (*storage.List, error) {
	return ask(r.t, called(r.next, "List", string(selection.Kind), labels(selection.Labels)), func(list *storage.List) string { return words(list) },
		func() (*storage.List, error) { return r.next.List(selection) })
}

func (r reader) ListAt(selection storage.Selection, version uint64) (*storage.List, error) {
	return ask(r.t, called(r.next, "ListAt", string(selection.Kind), strconv.FormatUint(version, 10)), func(list *storage.List) string { return words(list) },
		func() (*storage.List, error) { return r.next.ListAt(selection, version) })
}

func (r reader) FirstFree(candidates iter.Seq[api.Object]) (api.Object, error) {
	var machines []string
	name := ""
	for candidate := range candidates {
		name = named(string(candidate.Key().Kind), candidate.Key().ID)
		machines = append(machines, machineOf(candidate))
	}
	return ask(r.t, called(r.next, "FirstFree", machinesWords(machines), name),
		func(free api.Object) string { return machineWords(machineOf(free)) },
		func() (api.Object, error) { return r.next.FirstFree(candidates) })
}

func machineOf(object api.Object) string {
	if placed, ok := object.(api.Placed); ok {
		return placed.Machine()
	}
	return ""
}

func (r reader) Version() (uint64, error) { return r.next.Version() }

func (r reader) Changed(kind api.Kind) (uint64, error) { return r.next.Changed(kind) }

func (r reader) Watch(selection storage.Selection, after uint64) (storage.Watcher, error) {
	return r.next.Watch(selection, after)
}
