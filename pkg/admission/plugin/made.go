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

// Made has what a plugin makes of the stored objects of a kind, of each object once: connections, or compiled expressions. It is safe for
// concurrent use.
type Made[T any] struct {
	*Objects[runtime.Object]
	from func(object runtime.Object) []T

	making sync.Mutex
	latest atomic.Pointer[MadeOf[T]]
}

// MadeOf is what is made of all objects at one moment, by their names. It is shared and must not be changed.
type MadeOf[T any] struct {
	All     []T
	changed uint64 // the version of the last change of an object
	of      map[*storage.Object][]T
}

// NewMade returns what a function makes of the objects of a kind. The function gets a copy.
func NewMade[T any](resource string, kind schema.GroupVersionKind, from func(object runtime.Object) []T) *Made[T] {
	m := &Made[T]{Objects: NewObjects[runtime.Object](nil, api.Kind(resource), kind), from: from}
	m.latest.Store(&MadeOf[T]{changed: math.MaxUint64}) // which no version is
	return m
}

// Now returns what is made of the objects of now. The result is the same one until an object changes.
func (m *Made[T]) Now() (*MadeOf[T], error) {
	changed, err := m.Changed()
	if err != nil {
		return nil, err
	}
	if last := m.latest.Load(); last.changed == changed {
		return last, nil
	}
	m.making.Lock()
	defer m.making.Unlock()
	stored, err := m.Stored("")
	if err != nil {
		return nil, err
	}
	last, next := m.latest.Load(), &MadeOf[T]{changed: changed, of: make(map[*storage.Object][]T, len(stored))} // a change after the version may be in it, and is read again
	for _, one := range stored {
		made, known := last.of[one]
		if !known {
			made = m.make(one)
		}
		next.of[one], next.All = made, append(next.All, made...)
	}
	m.latest.Store(next)
	return next, nil
}

// make returns what is made of a stored object: nothing if it cannot be read.
func (m *Made[T]) make(stored *storage.Object) []T {
	object, err := m.Decode(stored)
	if err != nil {
		log.Printf("%s %s decides nothing: %s", m.Kind, api.Quote(stored.Key().ID), api.Printable(err.Error(), ' '))
		return nil
	}
	return m.from(object.DeepCopyObject())
}
