package generic

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/conversion"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Store keeps the objects of one kind in a store of internal objects. It has all verbs.
type Store[T rest.Object] struct {
	*rest.Encoding
	Resource   schema.GroupResource
	Internal   api.Kind
	Namespaced bool
	Objects    storage.Interface
	Strategy   Strategy[T]
	Turns      *Turns // those of all stores over objects of the same kinds

	// Labelled is whether the labels of an internal object are those of its metadata, so
	// that the store can look them up.
	Labelled bool
	// Insert stores a new object. It is not set where that is nothing but to write it.
	Insert func(context.Context, api.Object) (*storage.Object, error)
	// Remove deletes an object of a version. It is not set where that is all.
	Remove func(ctx context.Context, name string, version uint64) error
	// Grace returns how long an object still runs when it is to be deleted with these
	// options, in seconds. It is not set where a delete is immediate.
	Grace func(object T, options metav1.DeleteOptions) int64
	// AnswersDeleted is whether a delete answers the object, not a status.
	AnswersDeleted bool
	// Now is the time.
	Now func() time.Time
}

// With returns a store of the same objects that has another strategy.
func (s *Store[T]) With(strategy Strategy[T]) *Store[T] {
	own := *s
	own.Strategy = strategy
	return &own
}

// New implements rest.Creater and rest.Updater.
func (s *Store[T]) New() rest.Object {
	object, err := v1.Scheme.New(s.Kind.Version, s.Kind.Kind)
	if err != nil {
		panic(err) // the table of resources is wrong
	}
	return object.(rest.Object)
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
		return nil, apierrors.NewNotFound(s.Resource, key.Name)
	}
	stored, err := s.Objects.Get(s.key(key.Name))
	return stored, rest.StatusError(err, s.Resource, key.Name)
}

// key returns the key of an object.
func (s *Store[T]) key(name string) api.Key {
	key := api.Key{Kind: s.Internal, ID: name}
	if s.Namespaced {
		key.Namespace = v1.Namespace
	}
	return key
}

func (s *Store[T]) answer(stored *storage.Object) rest.Answer {
	return rest.Stored(s.Encoding, stored)
}

// versioned returns an object of the API's version, the caller's own.
func (s *Store[T]) versioned(stored *storage.Object) (T, error) {
	object, err := s.answer(stored).Object()
	if err != nil {
		var none T
		return none, err
	}
	return object.DeepCopyObject().(T), nil
}

// internal returns the internal object of one of the API's version, which inherits from
// an earlier version, nil if there is none.
func (s *Store[T]) internal(object T, earlier *storage.Object) (api.Object, error) {
	converted, err := s.Codec.Scheme.ConvertToVersion(object, conversion.Internal)
	if err != nil {
		return nil, err
	}
	internal := converted.(api.Object)
	if earlier != nil {
		internal.Inherit(earlier.Object)
	}
	return internal, nil
}

// hasNamespace reports whether there can be objects in a namespace.
func (s *Store[T]) hasNamespace(namespace string) bool {
	return !s.Namespaced || rest.HasObjects(namespace)
}
