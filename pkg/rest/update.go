package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// errUnchanged ends an update that would change nothing; errDone one that lets an object
// end which was only waiting for its finalizers.
var errUnchanged, errDone = errors.New("nothing changes"), errors.New("nothing holds the object any more")

// Update implements Updater. If somebody else changes the object meanwhile, change is
// applied anew to what it is then.
func (s *Store[T]) Update(ctx context.Context, key Key, change Change, dryRun bool) (Answer, bool, error) {
	if !s.hasNamespace(key.Namespace) {
		return nil, false, apierrors.NewNotFound(s.Resource, key.Name)
	}
	defer s.Turns.take(ctx, s.Internal, key.Name)()
	for {
		stored, created, err := s.update(key, change, dryRun)
		if errors.Is(err, errDone) {
			if err = s.remove(ctx, key.Name, stored.Version()); apierrors.IsConflict(err) && ctx.Err() == nil {
				continue // somebody else has changed it first
			}
		}
		if err != nil {
			return nil, false, StatusError(err, s.Resource, key.Name)
		}
		return s.answer(stored), created, nil
	}
}

// update returns an object as it is now, or as it would be after a dry run, and whether
// it is a new one. With errDone it returns the object that is to be removed.
func (s *Store[T]) update(key Key, change Change, dryRun bool) (object *storage.Object, created bool, err error) {
	var before, unwritten *storage.Object
	written, err := storage.GuaranteedUpdate(s.Objects, s.Internal, key.Name, func(stored *storage.Object) (api.Object, error) {
		before, created = stored, stored == nil
		next, err := s.next(key, stored, change)
		switch {
		case err == nil && dryRun:
			unwritten = unstored(next, stored)
			return nil, errUnchanged
		case errors.Is(err, errDone) && dryRun:
			err = errUnchanged
		}
		unwritten = stored
		return next, err
	})
	switch {
	case errors.Is(err, errUnchanged):
		return unwritten, created, nil
	case errors.Is(err, errDone):
		return before, false, err
	}
	return written, created, err
}

// unstored returns an object as if it had replaced a stored one, nil if there is none.
func unstored(next api.Object, stored *storage.Object) *storage.Object {
	if stored == nil {
		return storage.NewObject(next, 0, 0)
	}
	meta := stored.Meta()
	return storage.NewObject(next, meta.ResourceVersion, meta.CreationVersion)
}

// next returns the internal object that replaces a stored one, nil if there is none.
func (s *Store[T]) next(key Key, stored *storage.Object, change Change) (api.Object, error) {
	if stored == nil {
		return s.firstVersion(key, change)
	}
	current, err := s.versioned(stored)
	if err != nil {
		return nil, err
	}
	changed, err := change(current.DeepCopyObject().(Object))
	if err != nil {
		return nil, err
	}
	object := changed.(T)
	if err := s.beforeUpdate(object, current); err != nil {
		return nil, err
	}
	if isDone(object) && !isDone(current) {
		return nil, errDone
	}
	next, err := s.internal(object, stored)
	if err != nil {
		return nil, err
	}
	return next, s.compare(next, stored)
}

// isDone reports whether an object was told to end, has no time left, and nothing holds it.
func isDone(object Object) bool {
	grace := object.GetDeletionGracePeriodSeconds()
	return object.GetDeletionTimestamp() != nil && (grace == nil || *grace == 0) && len(object.GetFinalizers()) == 0
}

// firstVersion returns an object that an update creates.
func (s *Store[T]) firstVersion(key Key, change Change) (api.Object, error) {
	if !s.Strategy.AllowCreateOnUpdate {
		return nil, apierrors.NewNotFound(s.Resource, key.Name)
	}
	changed, err := change(nil)
	if err != nil {
		return nil, err
	}
	object := changed.(T)
	if err := s.enterNamespace(key.Namespace, object); err != nil {
		return nil, err
	}
	if object.GetResourceVersion() != "" {
		return nil, apierrors.NewNotFound(s.Resource, key.Name)
	}
	return s.beforeCreate(object)
}

// beforeUpdate completes and checks an object that is to replace another one.
func (s *Store[T]) beforeUpdate(object, old T) error {
	if version := object.GetResourceVersion(); version != "" && version != old.GetResourceVersion() {
		return apierrors.NewConflict(s.Resource, old.GetName(), errModified)
	}
	if uid := object.GetUID(); uid != "" && uid != old.GetUID() {
		return apierrors.NewConflict(s.Resource, old.GetName(),
			//lint:ignore ST1005 the words of today's server
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, old.GetUID()))
	}
	object.SetResourceVersion(old.GetResourceVersion())
	object.SetUID(old.GetUID())
	object.SetCreationTimestamp(old.GetCreationTimestamp())
	object.SetDeletionTimestamp(old.GetDeletionTimestamp())
	object.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	object.SetGenerateName(old.GetGenerateName())
	object.SetNamespace(old.GetNamespace())
	object.SetGeneration(old.GetGeneration())
	object.SetSelfLink("")
	object.SetManagedFields(nil)
	strategy := s.Strategy.withDefaults()
	strategy.Default(object) // first, so that what is left out does not differ from the old one
	strategy.PrepareForUpdate(object, old)
	if errs := strategy.ValidateUpdate(object, old); len(errs) > 0 {
		return Invalid(s.Kind.GroupKind(), old.GetName(), errs)
	}
	strategy.Canonicalize(object)
	return nil
}

// compare returns errUnchanged if an object would not differ from the stored one.
func (s *Store[T]) compare(next api.Object, stored *storage.Object) error {
	text, err := unstored(next, stored).Item(s.Codec)
	if err != nil {
		return err
	}
	before, err := stored.Item(s.Codec)
	if err == nil && bytes.Equal(text, before) {
		err = errUnchanged
	}
	return err
}

// versionOf returns the number that a resource version is.
func versionOf(text string) (uint64, error) {
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version %q: %v", text, err))
	}
	return version, nil
}
