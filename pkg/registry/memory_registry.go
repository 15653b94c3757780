package registry

import (
	"time"

	"kube2014/pkg/storage/memory"
)

// MemoryRegistry is a Registry whose objects end with the process.
type MemoryRegistry = Registry

// MakeMemoryRegistry returns an empty registry. Its versions are larger than those
// of any process before.
func MakeMemoryRegistry() *MemoryRegistry {
	return MakeRegistry(memory.New(uint64(time.Now().UnixMicro())))
}
