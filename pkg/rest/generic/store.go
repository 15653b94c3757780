package generic

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Base has the dependencies that the stores of a table share.
type Base struct {
	Objects storage.Interface
	Turns   *Turns
	Now     func() time.Time
}

// Store implements all verbs for the objects of one kind in a store of internal objects.
type Store[T rest.Object] struct {
	Base
	Codec    *v1.Codec
	Strategy Strategy[T]

	// Insert stores a new object. The default is to write it.
	Insert func(context.Context, api.Object) (*storage.Object, error)
	// Remove deletes an object that has the version. The default is to delete its key.
	Remove func(ctx context.Context, name string, version uint64) error
	// Grace returns the grace period of an object for a delete with these options, in
	// seconds. If it is nil, deletes are immediate.
	Grace func(object T, options metav1.DeleteOptions) int64
	// AnswersDeleted makes a delete return the object, not a status.
	AnswersDeleted bool

	resource   schema.GroupResource
	kind       schema.GroupVersionKind
	stored     api.Kind
	namespaced bool
}

// NewStore returns the store for the kind of a row.
func NewStore[T rest.Object](base Base, row rest.Resource, strategy Strategy[T]) *Store[T] {
	return &Store[T]{
		Base: base, Codec: v1.NewCodec(row.Kind, row.Stored, row.Types()), Strategy: strategy.complete(),
		resource: row.GroupResource(), kind: row.Kind, stored: row.Stored, namespaced: row.Namespaced,
	}
}

// labelled reports whether the labels of a stored object are those of its metadata, so that the store can
// find objects by them. Labels of some kinds of June 2014 have another meaning.
func (s *Store[T]) labelled() bool {
	switch s.stored {
	case api.ControllerKind, api.ServiceKind, api.EndpointsKind:
		return false
	}
	return true
}

// With returns a store of the same objects with another strategy.
func (s *Store[T]) With(strategy Strategy[T]) *Store[T] {
	own := *s
	own.Strategy = strategy.complete()
	return &own
}

// Namespaced reports whether the objects have a namespace.
func (s *Store[T]) Namespaced() bool { return s.namespaced }

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
	if !s.hasNamespace(key.Namespace) {
		return nil, apierrors.NewNotFound(s.resource, key.Name)
	}
	stored, err := s.Objects.Get(s.key(key.Name))
	return stored, rest.StatusError(err, s.resource, key.Name)
}

// key returns the key of an object.
func (s *Store[T]) key(name string) api.Key {
	key := api.Key{Kind: s.stored, ID: name}
	if s.namespaced {
		key.Namespace = v1.Namespace
	}
	return key
}

func (s *Store[T]) answer(stored *storage.Object) rest.Answer {
	return rest.Stored(s.Codec, stored)
}

// versioned converts a stored object to the API. The caller owns the result.
func (s *Store[T]) versioned(stored *storage.Object) (T, error) {
	object, err := s.answer(stored).Object()
	if err != nil {
		var none T
		return none, err
	}
	return object.DeepCopyObject().(T), nil
}

// internal converts an object of the API to its stored form. It inherits from an earlier
// version, nil for none.
func (s *Store[T]) internal(object T, earlier *storage.Object) (api.Object, error) {
	internal, err := s.Codec.In(object)
	if err != nil {
		return nil, err
	}
	if earlier != nil {
		internal.Inherit(earlier.Object)
	}
	return internal, nil
}

// hasNamespace reports whether objects may be in a namespace.
func (s *Store[T]) hasNamespace(namespace string) bool {
	return !s.namespaced || rest.HasObjects(namespace)
}
