// Package registry stores the objects of any kind, according to its Strategy and its conversions to and from the internal
// objects.
package registry

import (
	"context"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/versions"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/storage"
	"kube2014/pkg/util/keylocks"
)

// Store implements all verbs for the objects of one kind in a store of internal objects.
type Store[T rest.Object] struct {
	rest.Base
	Codec    *v1.Codec
	Strategy Strategy[T]

	// Insert stores a new object. The default is to write it.
	Insert func(context.Context, api.Object) (*storage.Object, error)
	// Remove returns the changes that delete an object which has the version. The default is to delete its key.
	Remove func(key api.Key, version uint64) []storage.Change
	// Grace returns the grace period of an object for a delete with these options, in
	// seconds. If it is nil, deletes are immediate.
	Grace func(object T, options metav1.DeleteOptions) int64
	// Holds reports whether an object without finalizers stays when it is deleted, as one with finalizers does. It
	// may be nil.
	Holds func(T) bool
	// Mark changes an object whose deletion begins, but which stays for a while. It may be nil.
	Mark func(T)
	// BriefPreconditions words a failed precondition of a delete as that of an update, as for namespaces.
	BriefPreconditions bool
	// AnswersDeleted makes a delete return the object, not a status.
	AnswersDeleted bool

	row      rest.Resource
	locks    *keylocks.Locks[rest.Key] // of objects: see lock
	managers *fieldmanager.Manager
	resource schema.GroupResource
	invalid  schema.GroupKind // the kind in errors of invalid objects: the one as which they are stored
}

// NewStore returns the store for the kind of a row.
func NewStore[T rest.Object](base rest.Base, row rest.Resource, strategy Strategy[T]) *Store[T] {
	return &Store[T]{
		Base: base, Codec: row.Codec(), Strategy: strategy.Complete(), row: row, locks: &keylocks.Locks[rest.Key]{}, managers: fieldmanager.New(row, "", strategy.Resets, strategy.Sets),
		resource: row.GroupResource(), invalid: versions.StoredAs(row.Kind, row.Types()).GroupKind(),
	}
}

// labelled reports whether the labels of a stored object are those of its metadata, so that the store can
// find objects by them. Labels of some kinds of June 2014 have another meaning.
func (s *Store[T]) labelled() bool {
	switch s.row.StoredKind {
	case api.ControllerKind, api.ServiceKind, api.EndpointsKind:
		return false
	}
	return true
}

// lockTimeout bounds how long a writer waits for the others of its object.
const lockTimeout = 2 * time.Second

// lock lets the writers of an object within a process wait for each other. No write is lost without it, because each is
// conditional on the version that it has read; but of many concurrent writers, all but one would retry again and again.
func (s *Store[T]) lock(ctx context.Context, key rest.Key) (unlock func()) {
	unlock, _ = s.locks.Lock(ctx, key, lockTimeout)
	return unlock
}

// With returns a store of the same objects with another strategy.
func (s *Store[T]) With(strategy Strategy[T]) *Store[T] {
	own := *s
	own.Strategy = strategy.Complete()
	return &own
}

// Subresource returns a store of the same objects for a subresource, with a strategy. Its fields for selectors are those of the store.
func (s *Store[T]) Subresource(subresource string, strategy Strategy[T]) *Store[T] {
	strategy.Fields = s.Strategy.Fields
	part := s.With(strategy)
	part.managers = fieldmanager.New(s.row, subresource, strategy.Resets, strategy.Sets)
	return part
}

// New implements rest.Creater and rest.Updater.
func (s *Store[T]) New() rest.Object {
	return s.Codec.New().(rest.Object)
}

// Get implements rest.Getter.
func (s *Store[T]) Get(_ context.Context, key rest.Key) (rest.Answer, error) {
	stored, err := s.get(key)
	if err != nil {
		return nil, err
	}
	return s.answer(stored), nil
}

func (s *Store[T]) get(key rest.Key) (*storage.Object, error) {
	stored, err := s.Objects.Get(s.key(key))
	return stored, rest.StatusError(err, s.resource, key.Name)
}

// Default implements rest.Defaulter.
func (s *Store[T]) Default(object rest.Object) {
	if typed, ok := object.(T); ok { // what a subresource takes may be of another type
		s.Strategy.Default(typed)
	}
}

// key returns the key of a stored object.
func (s *Store[T]) key(of rest.Key) api.Key {
	return api.Key{Kind: s.row.StoredKind, Namespace: of.Namespace, ID: of.Name}
}

// isHeld reports whether an object stays when it is deleted without a grace period.
func (s *Store[T]) isHeld(object T) bool {
	return len(object.GetFinalizers()) > 0 || s.Holds != nil && s.Holds(object)
}

func (s *Store[T]) answer(stored *storage.Object) rest.Answer {
	return rest.StoredAnswer(s.Codec, stored)
}

// Apply implements rest.Applier.
func (s *Store[T]) Apply(current rest.Object, configuration *unstructured.Unstructured, manager string, force bool) (rest.Object, error) {
	if current == nil {
		current = s.empty()
	}
	return s.managers.Apply(current, configuration, manager, force)
}

// track makes a manager the owner of the fields of an object that differ from the old one.
func (s *Store[T]) track(object, old T, manager string) error {
	if err := s.managers.Update(old, object, manager); err != nil {
		return rest.Invalid(s.invalid, object.GetName(), field.ErrorList{err})
	}
	return nil
}

// Track makes a manager the owner of the fields of an internal object that differ from the stored one. Both are without errors.
func (s *Store[T]) Track(before *storage.Object, next api.Object, manager string) {
	live, err := s.versioned(before)
	if err != nil {
		return
	}
	object, err := s.versioned(unstored(next, before))
	if err != nil {
		return
	}
	if s.track(object, live, manager) != nil {
		return
	}
	if now, err := s.Codec.ToInternal(object); err == nil {
		next.Meta().ManagedFields = now.Meta().ManagedFields
	}
}

func (s *Store[T]) empty() T {
	object := s.New()
	object.GetObjectKind().SetGroupVersionKind(s.row.Kind)
	return object.(T)
}

// mutate passes an object to the mutating plugins. If they break its managed fields, those of before stay.
func mutate[T rest.Object](object T, old rest.Object, options rest.WriteOptions) (T, error) {
	before := object.GetManagedFields()
	admitted, err := options.Mutate(object, old)
	if err != nil {
		return object, err
	}
	if after := admitted.GetManagedFields(); options.Manager != nil && !fieldmanager.Same(after, before) {
		if err := fieldmanager.Check(after); err != nil {
			admitted.SetManagedFields(before)
			if options.Warn != nil {
				options.Warn(fmt.Sprintf(".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: %v", err))
			}
		}
	}
	return admitted.(T), nil
}

// Decoded returns a stored object, which shares memory with the result.
func (s *Store[T]) Decoded(stored *storage.Object) (object T, err error) {
	decoded, err := s.Codec.ToVersioned(stored.Object)
	if err != nil {
		return object, err
	}
	return decoded.(T), nil
}

// versioned converts a stored object to the API. The caller owns the result.
func (s *Store[T]) versioned(stored *storage.Object) (T, error) {
	object, err := s.answer(stored).Object()
	if err != nil {
		var none T
		return none, err
	}
	own := object.(T)
	if _, decoded := stored.Object.(*api.Any); decoded && s.Codec.Decodes() { // it shares only these with the stored object
		own.SetLabels(maps.Clone(own.GetLabels()))
		own.SetAnnotations(maps.Clone(own.GetAnnotations()))
		return own, nil
	}
	return own.DeepCopyObject().(T), nil
}

// internal converts an object of the API to its stored form. It inherits from an earlier
// version, nil for none.
func (s *Store[T]) internal(object T, earlier *storage.Object) (api.Object, error) {
	internal, err := s.Codec.ToInternal(object)
	if err != nil {
		return nil, err
	}
	if earlier != nil {
		internal.Inherit(earlier.Object)
	}
	return internal, nil
}

// FreshCache is a store that updates its cache before it acknowledges a change, for objects by which the server decides from
// its cache, such as roles and quotas: its next decision obeys what it has acknowledged. That costs one more call of the
// store for each change. The caches of other servers follow soon. It is safe for concurrent use.
type FreshCache struct{ storage.Interface }

var _ storage.Clock = FreshCache{}

// Commit implements storage.Interface.
func (a FreshCache) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	written, err := a.Interface.Commit(changes...)
	if err == nil {
		_, _ = a.Version() // a cache is never older than what was read; if that fails, it follows a moment later
	}
	return written, err
}

// Now implements storage.Clock.
func (a FreshCache) Now() time.Time { return storage.ClockOf(a.Interface)() }
