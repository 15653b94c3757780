// Package cache has copies of an apiserver's objects: a reflector lists and watches the objects of a
// kind, a SharedInformer has them in a Store and calls handlers for changes.
package cache

import (
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Key returns the key of an object: its name, after its namespace and a slash if it has one.
func Key(object metav1.Object) string {
	return KeyOf(object.GetNamespace(), object.GetName())
}

// KeyOf returns the key of the object of a name in a namespace, which may be empty.
func KeyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// NamespaceIndex is the name of the index of NamespaceOf.
const NamespaceIndex = "namespace"

// NamespaceOf is an IndexFunc: it returns the namespace of an object.
func NamespaceOf[T metav1.Object](object T) []string { return []string{object.GetNamespace()} }

// The names of the indexes of OwnerOf and of OrphanOf.
const (
	OwnerIndex  = "uid of the controller"
	OrphanIndex = "namespace of what has no controller"
)

// OwnerOf is an IndexFunc: it returns the uid of the controller of an object.
func OwnerOf[T metav1.Object](object T) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

// OrphanOf is an IndexFunc: it returns the namespace of an object that has no controller.
func OrphanOf[T metav1.Object](object T) []string {
	if metav1.GetControllerOfNoCopy(object) == nil {
		return []string{object.GetNamespace()}
	}
	return nil
}

// IndexFunc returns the values under which an object is found in an index.
type IndexFunc[T any] func(object T) []string

// Store has objects by their keys, and by the values of its indices. It is safe for concurrent
// use. The objects are shared: nobody may change them.
type Store[T metav1.Object] struct {
	mu      sync.RWMutex // guards what follows
	objects map[string]T
	indices map[string]*index[T]
}

// index has the keys of objects by their values.
type index[T any] struct {
	values IndexFunc[T]
	keys   map[string]map[string]bool
}

// NewStore returns an empty store.
func NewStore[T metav1.Object]() *Store[T] {
	return &Store[T]{objects: map[string]T{}, indices: map[string]*index[T]{}}
}

// AddIndex adds an index of the values of a function. The function must depend on the object alone.
// If there is an index of the same name, it stays.
func (s *Store[T]) AddIndex(name string, values IndexFunc[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indices[name] != nil {
		return
	}
	added := &index[T]{values, map[string]map[string]bool{}}
	for key, object := range s.objects {
		added.add(key, object)
	}
	s.indices[name] = added
}

// Get returns the object of a key.
func (s *Store[T]) Get(key string) (object T, exists bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	object, exists = s.objects[key]
	return object, exists
}

// List returns all objects, in no order.
func (s *Store[T]) List() []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.AppendSeq(make([]T, 0, len(s.objects)), maps.Values(s.objects))
}

// ByIndex returns the objects that have a value in an index, in no order. It panics if the index was
// not added.
func (s *Store[T]) ByIndex(name, value string) []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	keys := s.indices[name].keys[value]
	objects := make([]T, 0, len(keys))
	for key := range keys {
		objects = append(objects, s.objects[key])
	}
	return objects
}

// set stores an object, and returns the one that was there.
func (s *Store[T]) set(key string, object T) (old T, existed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, existed = s.objects[key]
	for _, index := range s.indices {
		if existed {
			index.remove(key, old)
		}
		index.add(key, object)
	}
	s.objects[key] = object
	return old, existed
}

// remove removes an object, and returns it.
func (s *Store[T]) remove(key string) (old T, existed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, existed = s.objects[key]; !existed {
		return old, false
	}
	for _, index := range s.indices {
		index.remove(key, old)
	}
	delete(s.objects, key)
	return old, true
}

func (i *index[T]) add(key string, object T) {
	for _, value := range i.values(object) {
		if i.keys[value] == nil {
			i.keys[value] = map[string]bool{}
		}
		i.keys[value][key] = true
	}
}

func (i *index[T]) remove(key string, object T) {
	for _, value := range i.values(object) {
		delete(i.keys[value], key)
		if len(i.keys[value]) == 0 {
			delete(i.keys, value)
		}
	}
}
