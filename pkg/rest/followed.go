package rest

import (
	"sync"
	"sync/atomic"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// maxFollowed bounds the number of kinds that a value is made of.
const maxFollowed = 4

// Followed is a value that is made of the objects of some kinds in the cache of a store, for a server that reads it for each
// request. It sees the changes of this process at once, those of other apiservers as soon as the cache does. It is safe for
// concurrent use.
type Followed[V any] struct {
	objects storage.Interface
	kinds   []api.Kind
	read    func(reader storage.Reader, last V) (V, error)
	mu      sync.Mutex // held while the latest is replaced
	latest  atomic.Pointer[followed[V]]
}

// followed is an immutable state.
type followed[V any] struct {
	value   V
	changed [maxFollowed]uint64 // the versions of the last changes of the kinds
}

// Follow returns a value that read makes anew when an object of the kinds has changed. It is zero until Load has succeeded.
func Follow[V any](objects storage.Interface, read func(reader storage.Reader, last V) (V, error), kinds ...api.Kind) *Followed[V] {
	f := &Followed[V]{objects: objects, kinds: kinds, read: read}
	f.latest.Store(&followed[V]{})
	return f
}

// Load fills the store's cache and keeps it following the changes of other apiservers. It may be called again after an error.
func (f *Followed[V]) Load() error {
	list, err := f.objects.List(storage.Selection{Kind: f.kinds[0]})
	if err != nil {
		return err
	}
	watcher, err := f.objects.Watch(storage.Selection{Kind: f.kinds[0]}, list.Version)
	if err == nil {
		watcher.Stop() // the cache continues to follow
	}
	return err
}

// Get returns the present value, the same pointer while nothing has changed. If the cache cannot be read, it is the last value.
func (f *Followed[V]) Get() *V {
	reader := f.objects.Cached()
	changed, err := f.changes(reader)
	if latest := f.latest.Load(); err != nil || latest.changed == changed {
		return &latest.value
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	latest := f.latest.Load()
	if changed, err = f.changes(reader); err != nil || latest.changed == changed {
		return &latest.value // another goroutine was first
	}
	value, err := f.read(reader, latest.value) // changes after this may already be in it, or come with the next value
	if err != nil {
		return &latest.value
	}
	next := &followed[V]{value, changed}
	f.latest.Store(next)
	return &next.value
}

func (f *Followed[V]) changes(reader storage.Reader) (changed [maxFollowed]uint64, err error) {
	for i, kind := range f.kinds {
		if changed[i], err = reader.Changed(kind); err != nil {
			break
		}
	}
	return changed, err
}
