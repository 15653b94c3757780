package registry

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

const (
	// generatedLength is the number of random characters of a generated name.
	generatedLength = 5
	// maxGenerated bounds the attempts to generate a name that is not taken.
	maxGenerated = 8
)

// Create implements rest.Creater.
func (s *Store[T]) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	expected, _ := expectedVersion(object) // one that is no number is ignored
	typed, err := s.admitNew(key, object.(T), options)
	if err != nil {
		return nil, err
	}
	generate := typed.GetName() == "" && typed.GetGenerateName() != ""
	for attempt := 1; ; attempt++ {
		candidate := typed
		if generate {
			candidate = typed.DeepCopyObject().(T)
			candidate.SetName(generatedName(typed.GetGenerateName()))
		}
		internal, err := s.beforeCreate(candidate, options)
		if err != nil {
			return nil, err
		}
		if expected != 0 && !options.DryRun { // a dry run does not reach the store, which refuses that
			return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
		}
		answer, err := s.insert(ctx, internal, candidate, options.DryRun)
		if !generate || !apierrors.IsAlreadyExists(err) {
			return answer, err
		}
		if attempt == maxGenerated {
			return nil, apierrors.NewGenerateNameConflict(s.resource, candidate.GetName(), 1)
		}
	}
}

// Ensure creates an object unless there is one with its name. It is safe to call on several servers at once.
func (s *Store[T]) Ensure(ctx context.Context, object T) error {
	key := rest.Key{Namespace: object.GetNamespace(), Name: object.GetName()}
	if _, err := s.Get(ctx, key); !apierrors.IsNotFound(err) {
		return err
	}
	if _, err := s.Create(ctx, key, object, rest.WriteOptions{}); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// admitNew sets the namespace of a new object, and passes it, with its defaults, to the mutating plugins.
func (s *Store[T]) admitNew(key rest.Key, object T, options rest.WriteOptions) (T, error) {
	if s.row.Namespaced { // else the namespace is ignored
		if err := rest.CheckNamespace(object, key.Namespace); err != nil {
			return object, err
		}
	}
	object.SetNamespace(key.Namespace)
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	if options.Admission != nil || options.Manager != nil {
		s.Strategy.Default(object)
	}
	if options.Manager != nil {
		if err := s.track(object, s.empty(), *options.Manager); err != nil {
			return object, err
		}
	}
	object, err := mutate(object, nil, options)
	if err != nil {
		return object, err
	}
	object.SetNamespace(key.Namespace)
	return object, nil
}

// beforeCreate prepares, completes and checks a new object.
func (s *Store[T]) beforeCreate(object T, options rest.WriteOptions) (api.Object, error) {
	s.fillMeta(object)
	s.Strategy.PrepareForCreate(object)
	s.Strategy.Default(object)
	errs := s.Strategy.Validate(object)
	if len(errs) == 0 { // else its kind may have reported the same
		errs = validation.Metadata(object, s.row.Namespaced)
	}
	if len(errs) > 0 {
		return nil, rest.Invalid(s.invalid, object.GetName(), errs)
	}
	var none T
	s.warn(object, none, options)
	s.Strategy.Canonicalize(object)
	if err := options.Validate(object, nil); err != nil {
		return nil, err
	}
	return s.internal(object, nil)
}

// warn sends the warnings of the kind to the client.
func (s *Store[T]) warn(object, old T, options rest.WriteOptions) {
	if options.Warn == nil {
		return
	}
	for _, text := range s.Strategy.Warnings(object, old) {
		options.Warn(text)
	}
}

// fillMeta sets the metadata that only the server sets.
func (s *Store[T]) fillMeta(object T) {
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	object.SetUID(types.UID(uuid.NewUUID()))
	object.SetCreationTimestamp(metav1.Time{Time: s.Now().UTC()}.Rfc3339Copy())
	object.SetSelfLink("")
	object.SetResourceVersion("")
}

// insert stores an object, unless it is a dry run.
func (s *Store[T]) insert(ctx context.Context, internal api.Object, object T, dryRun bool) (rest.Answer, error) {
	if dryRun {
		existing, err := s.Objects.Get(internal.Key())
		if err == nil {
			return nil, s.taken(existing)
		}
		if api.KindOf(err) != api.NotFound {
			return nil, rest.StatusError(err, s.resource, object.GetName())
		}
		return s.answer(storage.NewObject(internal, 0, 0)), nil
	}
	insert := s.Insert
	if insert == nil {
		insert = func(_ context.Context, object api.Object) (*storage.Object, error) {
			return storage.CommitOne(s.Objects, storage.Create(object))
		}
	}
	stored, err := insert(ctx, internal)
	if api.KindOf(err) == api.AlreadyExists {
		if existing, err := s.Objects.Get(internal.Key()); err == nil {
			return nil, s.taken(existing)
		}
	}
	if err != nil {
		return nil, rest.StatusError(err, s.resource, object.GetName())
	}
	return s.answer(stored), nil
}

// taken returns the error for a name that an object has.
func (s *Store[T]) taken(existing *storage.Object) error {
	err := apierrors.NewAlreadyExists(s.resource, existing.Key().ID)
	if object, readErr := s.answer(existing).Object(); readErr == nil && object.(rest.Object).GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

func generatedName(base string) string {
	if most := 63 - generatedLength; len(base) > most {
		base = base[:most]
	}
	return base + utilrand.String(generatedLength)
}
