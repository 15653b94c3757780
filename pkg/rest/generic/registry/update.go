package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// errUnchanged ends an update that would change nothing. errDone ends an update that removes the
// last finalizer of an object, which must be deleted then.
var errUnchanged, errDone = errors.New("nothing changes"), errors.New("nothing holds the object any more")

// Update implements rest.Updater. If another writer changes the object meanwhile, change is applied
// to the new version.
func (s *Store[T]) Update(ctx context.Context, key rest.Key, change rest.Change, options rest.WriteOptions) (rest.Answer, bool, error) {
	defer s.lock(ctx, key)()
	for {
		stored, created, err := s.update(key, change, options)
		if errors.Is(err, errDone) {
			if err = s.remove(key, stored.Version()); apierrors.IsConflict(err) && ctx.Err() == nil {
				continue // another writer was first
			}
		}
		if err != nil {
			return nil, false, rest.StatusError(err, s.resource, key.Name)
		}
		return s.answer(stored), created, nil
	}
}

// update returns the updated object, or the result of a dry run, and whether it is a new one. With
// errDone it returns the object that must be deleted.
func (s *Store[T]) update(key rest.Key, change rest.Change, options rest.WriteOptions) (object *storage.Object, created bool, err error) {
	var unwritten *storage.Object
	written, err := storage.GuaranteedUpdate(s.Objects, s.key(key), func(stored *storage.Object) (api.Object, error) {
		created, unwritten = stored == nil, stored
		next, err := s.next(key, stored, change, options)
		if err == nil || errors.Is(err, errDone) {
			unwritten = unstored(next, stored)
			if options.DryRun {
				err = errUnchanged
			}
		}
		return next, err
	})
	switch {
	case errors.Is(err, errUnchanged):
		return unwritten, created, nil
	case errors.Is(err, errDone):
		return unwritten, false, err
	}
	return written, created, err
}

// unstored returns an object as if it had replaced a stored one, nil for none.
func unstored(next api.Object, stored *storage.Object) *storage.Object {
	if stored == nil {
		return storage.NewObject(next, 0, 0)
	}
	meta := stored.Meta()
	return storage.NewObject(next, meta.ResourceVersion, meta.CreationVersion)
}

// next returns the internal object that replaces a stored one, nil for none. With errDone the object
// must be deleted; with errUnchanged there is nothing to write.
func (s *Store[T]) next(key rest.Key, stored *storage.Object, change rest.Change, options rest.WriteOptions) (api.Object, error) {
	if stored == nil {
		return s.firstVersion(key, change, options)
	}
	current, err := s.versioned(stored)
	if err != nil {
		return nil, err
	}
	changed, err := change(current.DeepCopyObject().(rest.Object))
	if err != nil {
		return nil, err
	}
	object, err := s.admitChanged(changed.(T), current, options)
	if err != nil {
		return nil, err
	}
	if err := s.beforeUpdate(object, current); err != nil {
		return nil, err
	}
	s.warn(object, current, options)
	if err := options.Validate(object, current); err != nil {
		return nil, err
	}
	next, err := s.internal(object, stored)
	switch {
	case err != nil:
		return nil, err
	case s.isDone(object):
		return next, errDone
	}
	return next, s.compare(next, stored)
}

// isDone reports whether nothing holds a deleted object any more.
func (s *Store[T]) isDone(object T) bool {
	return object.GetDeletionTimestamp() != nil && graceOf(object) == 0 && !s.isHeld(object)
}

// firstVersion returns an object that an update creates.
func (s *Store[T]) firstVersion(key rest.Key, change rest.Change, options rest.WriteOptions) (api.Object, error) {
	if !s.Strategy.AllowCreateOnUpdate && !options.ForceCreate {
		return nil, apierrors.NewNotFound(s.resource, key.Name)
	}
	changed, err := change(nil)
	if err != nil {
		return nil, err
	}
	object, err := s.admitNew(key, changed.(T), options)
	if err != nil {
		return nil, err
	}
	switch expected, err := expectedVersion(object); {
	case err != nil:
		return nil, err
	case expected != 0 && !options.ForceCreate:
		return nil, apierrors.NewNotFound(s.resource, key.Name)
	}
	if err := s.checkUID(key.Name, object.GetUID(), ""); err != nil {
		return nil, err
	}
	return s.beforeCreate(object, options)
}

// admitChanged passes an object that replaces another one, with its defaults, to the mutating plugins.
func (s *Store[T]) admitChanged(object, old T, options rest.WriteOptions) (T, error) {
	if options.Admission == nil && options.Manager == nil {
		return object, nil
	}
	s.Strategy.Default(object)
	if options.Manager != nil {
		if err := s.track(object, old, *options.Manager); err != nil {
			return object, err
		}
	}
	return mutate(object, old, options)
}

// expectedVersion returns the version that an object may replace, 0 for any.
func expectedVersion(object rest.Object) (uint64, error) {
	version := object.GetResourceVersion()
	if version == "" {
		return 0, nil
	}
	expected, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(field.Invalid(field.NewPath("metadata", "resourceVersion"), version, "must be a version that this server has told").Error())
	}
	return expected, nil
}

// beforeUpdate completes and checks an object that replaces another one.
func (s *Store[T]) beforeUpdate(object, old T) error {
	switch expected, err := expectedVersion(object); {
	case err != nil:
		return err
	case expected != 0 && strconv.FormatUint(expected, 10) != old.GetResourceVersion():
		return apierrors.NewConflict(s.resource, old.GetName(), rest.ErrModified)
	}
	if s.Strategy.ForbidUnconditionalUpdate && object.GetResourceVersion() == "" {
		missing := field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")
		return rest.Invalid(schema.GroupKind{Group: s.resource.Group, Kind: s.resource.Resource}, old.GetName(), field.ErrorList{missing})
	}
	if err := s.checkUID(old.GetName(), object.GetUID(), old.GetUID()); err != nil {
		return err
	}
	object.SetResourceVersion(old.GetResourceVersion())
	object.SetUID(old.GetUID())
	object.SetCreationTimestamp(old.GetCreationTimestamp())
	if old.GetDeletionTimestamp() != nil {
		object.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if object.GetDeletionGracePeriodSeconds() == nil {
		object.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
	object.SetNamespace(old.GetNamespace())
	object.SetGeneration(old.GetGeneration())
	object.SetSelfLink("")
	s.Strategy.Default(object) // first, so that defaulted fields equal the old ones
	managed := object.GetManagedFields()
	s.Strategy.PrepareForUpdate(object, old)
	object.SetManagedFields(managed)
	errs := s.Strategy.ValidateUpdate(object, old)
	if len(errs) == 0 {
		errs = validation.MetadataUpdate(object, old)
	}
	if len(errs) > 0 {
		return rest.Invalid(s.invalid, object.GetName(), errs)
	}
	s.Strategy.Canonicalize(object)
	return nil
}

// checkUID returns a conflict if an update names another uid than the object's.
func (s *Store[T]) checkUID(name string, named, has types.UID) error {
	if named == "" || named == has {
		return nil
	}
	return s.preconditionFailed(name, "UID", string(named), string(has))
}

// preconditionFailed returns the conflict of an object whose metadata have another value than the one that is wanted.
func (s *Store[T]) preconditionFailed(name, what, want, have string) error {
	//lint:ignore ST1005 the words of today's server
	return apierrors.NewConflict(s.resource, name, fmt.Errorf("Precondition failed: %s in precondition: %s, %[1]s in object meta: %[3]s", what, want, have))
}

// compare returns errUnchanged if an object equals the stored one but for the times in its managed fields.
func (s *Store[T]) compare(next api.Object, stored *storage.Object) error {
	if managers := next.Meta().ManagedFields; !managers.Same(stored.Meta().ManagedFields) {
		return nil
	}
	if now, ok := next.(*api.Any); ok { // its remainder says all, and encoding is deterministic
		before := stored.Object.(*api.Any)
		if now.Remainder.Same(before.Remainder) && maps.Equal(now.Labels, before.Labels) && maps.Equal(now.Annotations, before.Annotations) {
			return errUnchanged
		}
		return nil
	}
	encoder := storage.Encoder(s.Codec) // or the form in which the stored object is encoded already
	if message := (v1.Protobuf{Codec: s.Codec}); stored.HasItem(message) {
		encoder = message
	}
	text, err := unstored(next, stored).Item(encoder)
	if err != nil {
		return err
	}
	before, err := stored.Item(encoder)
	if err == nil && bytes.Equal(text, before) {
		err = errUnchanged
	}
	return err
}
