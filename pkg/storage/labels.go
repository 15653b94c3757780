package storage

import (
	"hash/maphash"
	"maps"
	"sync/atomic"
)

// maxShared is the size of the labels that are shared at most, in bytes. It bounds the memory of labelSets.
const maxShared = 512

// labelSets has the labels of recent objects by their hash. It is safe for concurrent use.
type labelSets [1024]atomic.Pointer[map[string]string]

// allLabels is for the objects of all stores. The pods of a controller have the same labels: with a map for
// each, 100,000 tasks take 250 MB instead of 200, and a GET beside 20,000 is a thirtieth slower.
var allLabels labelSets

var labelSeed = maphash.MakeSeed()

// share returns labels equal to these: those of an earlier object if it finds some. Nobody may change them.
func (s *labelSets) share(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return labels
	}
	var hash, size uint64
	for key, value := range labels {
		hash += maphash.Comparable(labelSeed, [2]string{key, value})
		size += uint64(len(key) + len(value))
	}
	if size > maxShared {
		return labels
	}
	slot := &s[hash%uint64(len(s))]
	if earlier := slot.Load(); earlier != nil && maps.Equal(*earlier, labels) {
		return *earlier
	}
	slot.Store(&labels)
	return labels
}
