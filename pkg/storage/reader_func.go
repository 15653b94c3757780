package storage

import (
	"iter"

	"kube2014/pkg/api"
)

// ReaderFunc implements Reader with a function that chooses the Reader for each call.
// operation names the call, for example "get task", for errors.
type ReaderFunc func(operation string) (Reader, error)

var _ Reader = ReaderFunc(nil)

// Get implements Reader.
func (f ReaderFunc) Get(key api.Key) (*Object, error) {
	return readBy(f, "get "+string(key.Kind), func(r Reader) (*Object, error) { return r.Get(key) })
}

// List implements Reader.
func (f ReaderFunc) List(selection Selection) (*List, error) {
	return readBy(f, ListInWords(selection.Kind), func(r Reader) (*List, error) { return r.List(selection) })
}

// ListAt implements Reader.
func (f ReaderFunc) ListAt(selection Selection, version uint64) (*List, error) {
	return readBy(f, ListInWords(selection.Kind), func(r Reader) (*List, error) { return r.ListAt(selection, version) })
}

// FirstFree implements Reader.
func (f ReaderFunc) FirstFree(candidates iter.Seq[api.Object]) (api.Object, error) {
	return readBy(f, "place task", func(r Reader) (api.Object, error) { return r.FirstFree(candidates) })
}

// Version implements Reader.
func (f ReaderFunc) Version() (uint64, error) { return readBy(f, "get the version", Reader.Version) }

// Changed implements Reader.
func (f ReaderFunc) Changed(kind api.Kind) (uint64, error) {
	return readBy(f, "get the version", func(r Reader) (uint64, error) { return r.Changed(kind) })
}

// Watch implements Reader.
func (f ReaderFunc) Watch(selection Selection, after uint64) (Watcher, error) {
	return readBy(f, "watch", func(r Reader) (Watcher, error) { return r.Watch(selection, after) })
}

func readBy[T any](f ReaderFunc, operation string, read func(Reader) (T, error)) (result T, err error) {
	reader, err := f(operation)
	if err != nil {
		return result, err
	}
	return read(reader)
}
