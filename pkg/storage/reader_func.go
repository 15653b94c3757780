package storage

import "kube2014/pkg/api"

// ReaderFunc is a Reader that is another one at times: each read asks it which. The
// operation is what the read is, such as "get task", for errors.
type ReaderFunc func(operation string) (Reader, error)

var _ Reader = ReaderFunc(nil)

// Get implements Reader.
func (f ReaderFunc) Get(kind api.Kind, id string) (*Object, error) {
	return ask(f, "get "+string(kind), func(r Reader) (*Object, error) { return r.Get(kind, id) })
}

// List implements Reader.
func (f ReaderFunc) List(kind api.Kind, labels map[string]string) (*List, error) {
	return ask(f, ListInWords(kind), func(r Reader) (*List, error) { return r.List(kind, labels) })
}

// ListAt implements Reader.
func (f ReaderFunc) ListAt(kind api.Kind, version uint64) (*List, error) {
	return ask(f, ListInWords(kind), func(r Reader) (*List, error) { return r.ListAt(kind, version) })
}

// FirstFree implements Reader.
func (f ReaderFunc) FirstFree(machines []string, task api.Task) (string, error) {
	return ask(f, "place task", func(r Reader) (string, error) { return r.FirstFree(machines, task) })
}

// Version implements Reader.
func (f ReaderFunc) Version() (uint64, error) { return ask(f, "get the version", Reader.Version) }

// Watch implements Reader.
func (f ReaderFunc) Watch(kind api.Kind, after uint64) (Watcher, error) {
	return ask(f, "watch", func(r Reader) (Watcher, error) { return r.Watch(kind, after) })
}

func ask[T any](f ReaderFunc, operation string, read func(Reader) (T, error)) (result T, err error) {
	reader, err := f(operation)
	if err != nil {
		return result, err
	}
	return read(reader)
}
