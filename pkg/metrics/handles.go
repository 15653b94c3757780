package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// handles caches the series of a few frequent keys: to find a series by the values of its labels takes a
// microsecond, and several allocations.
type handles[Key comparable, Handle any] struct {
	resolve func(Key) Handle
	all     atomic.Pointer[map[Key]Handle] // immutable; replaced as a whole

	mu sync.Mutex // held by the writer
}

func makeHandles[Key comparable, Handle any](resolve func(Key) Handle) *handles[Key, Handle] {
	h := &handles[Key, Handle]{resolve: resolve}
	h.all.Store(&map[Key]Handle{})
	return h
}

func (h *handles[Key, Handle]) of(key Key) Handle {
	if handle, ok := (*h.all.Load())[key]; ok {
		return handle
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := maps.Clone(*h.all.Load())
	if _, ok := all[key]; !ok {
		all[key] = h.resolve(key)
	}
	h.all.Store(&all)
	return all[key]
}
