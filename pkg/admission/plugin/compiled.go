package plugin

import (
	"log"
	"math"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Compiled has what a plugin makes of the stored objects of a kind, of each object once: connections, or compiled
// expressions. It is safe for concurrent use.
type Compiled[T any] struct {
	*Objects[runtime.Object]
	from func(object runtime.Object) []T

	making sync.Mutex
	latest atomic.Pointer[CompiledSet[T]]
}

// CompiledSet is what is made of all objects at one moment, by their names. It is shared and must not be changed.
type CompiledSet[T any] struct {
	All     []T
	changed uint64 // the version of the last change of an object
	of      map[*storage.Object][]T
}

// NewCompiled returns what a function makes of the objects of a kind. The function gets a copy.
func NewCompiled[T any](resource string, kind schema.GroupVersionKind, from func(object runtime.Object) []T) *Compiled[T] {
	c := &Compiled[T]{Objects: NewObjects[runtime.Object](nil, api.Kind(resource), kind), from: from}
	c.latest.Store(&CompiledSet[T]{changed: math.MaxUint64}) // which no version is
	return c
}

// Now returns what is made of the objects of now. The result is the same one until an object changes.
func (c *Compiled[T]) Now() (*CompiledSet[T], error) {
	changed, err := c.Changed()
	if err != nil {
		return nil, err
	}
	if last := c.latest.Load(); last.changed == changed {
		return last, nil
	}
	c.making.Lock()
	defer c.making.Unlock()
	stored, err := c.Stored("")
	if err != nil {
		return nil, err
	}
	// A change after the version may be in it already: then it is read again.
	last, next := c.latest.Load(), &CompiledSet[T]{changed: changed, of: make(map[*storage.Object][]T, len(stored))}
	for _, one := range stored {
		made, known := last.of[one]
		if !known {
			made = c.make(one)
		}
		next.of[one], next.All = made, append(next.All, made...)
	}
	c.latest.Store(next)
	return next, nil
}

// make returns what is made of a stored object: nothing if it cannot be read.
func (c *Compiled[T]) make(stored *storage.Object) []T {
	object, err := c.Decode(stored)
	if err != nil {
		log.Printf("%s %s decides nothing: %s", c.Kind, api.Quote(stored.Key().ID), api.Printable(err.Error(), ' '))
		return nil
	}
	return c.from(object.DeepCopyObject())
}
