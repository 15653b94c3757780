package registry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Delete implements rest.Deleter. An object with finalizers or a grace period is only marked: it is removed
// when its finalizers are gone, or when it is deleted again.
func (s *Store[T]) Delete(ctx context.Context, key rest.Key, options rest.DeleteOptions) (rest.Answer, error) {
	defer s.lock(ctx, key)()
	dryRun := len(options.DryRun) > 0
	for {
		stored, err := s.get(key)
		if err != nil {
			return nil, err
		}
		object, err := s.versioned(stored)
		if err != nil {
			return nil, err
		}
		if err := s.checkPreconditions(object, options.Preconditions); err != nil {
			return nil, err
		}
		if _, err := options.Write().Admit(nil, object); err != nil {
			return nil, err
		}
		grace := int64(0)
		if s.Grace != nil {
			grace = s.Grace(object, options.DeleteOptions)
		}
		before := object.GetFinalizers()
		object.SetFinalizers(s.finalizers(object, options.DeleteOptions))
		if grace > 0 || s.isHeld(object) {
			if object.GetDeletionTimestamp() != nil && grace >= graceOf(object) && slices.Equal(before, object.GetFinalizers()) {
				return s.answer(stored), nil
			}
			answer, err := s.mark(stored, object, grace, dryRun)
			if apierrors.IsConflict(err) && ctx.Err() == nil {
				continue
			}
			return answer, err
		}
		if !dryRun {
			err := s.remove(key, stored.Version())
			if apierrors.IsConflict(err) && ctx.Err() == nil {
				continue // another writer was first; the preconditions are checked again
			}
			if err != nil {
				return nil, err
			}
			// This is the version of the deletion, or a later one after other changes. If
			// the store is unavailable, the object's own version stays.
			if version, err := s.Objects.Version(); err == nil {
				object.SetResourceVersion(strconv.FormatUint(version, 10))
			}
		}
		return s.deleted(object), nil
	}
}

// checkPreconditions returns a conflict if the object does not meet the preconditions.
func (s *Store[T]) checkPreconditions(object T, wanted *metav1.Preconditions) error {
	if wanted == nil {
		return nil
	}
	conflict := func(what, want, have string) error {
		if s.BriefPreconditions {
			return s.preconditionFailed(object.GetName(), what, want, have)
		}
		return apierrors.NewConflict(schema.GroupResource{Group: s.row.Kind.Group, Resource: s.row.Kind.Kind}, object.GetName(),
			fmt.Errorf("the %s in the precondition (%s) does not match the %s in record (%s). The object might have been %s",
				what, want, what, have, map[string]string{"UID": "deleted and then recreated", "ResourceVersion": "modified"}[what]))
	}
	if wanted.UID != nil && *wanted.UID != object.GetUID() {
		return conflict("UID", string(*wanted.UID), string(object.GetUID()))
	}
	if wanted.ResourceVersion != nil && *wanted.ResourceVersion != object.GetResourceVersion() {
		return conflict("ResourceVersion", *wanted.ResourceVersion, object.GetResourceVersion())
	}
	return nil
}

// finalizers returns the finalizers of an object that is deleted. The garbage collector removes its own: orphan when it
// has released the dependents, foregroundDeletion when it has deleted them.
func (s *Store[T]) finalizers(object T, options metav1.DeleteOptions) []string {
	others := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(name string) bool {
		return name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents
	})
	policy := metav1.DeletePropagationBackground
	switch has := object.GetFinalizers(); {
	case s.Strategy.Dependents == None:
		return others
	case options.OrphanDependents != nil:
		if *options.OrphanDependents {
			policy = metav1.DeletePropagationOrphan
		}
	case options.PropagationPolicy != nil:
		policy = *options.PropagationPolicy
	case slices.Contains(has, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(has, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	case s.Strategy.Dependents == Orphaned:
		policy = metav1.DeletePropagationOrphan
	}
	switch {
	case s.IgnoreDependents:
	case policy == metav1.DeletePropagationOrphan:
		return append(others, metav1.FinalizerOrphanDependents)
	case policy == metav1.DeletePropagationForeground:
		return append(others, metav1.FinalizerDeleteDependents)
	}
	return others
}

// graceOf returns the grace period of a deleted object, in seconds.
func graceOf(object rest.Object) int64 {
	if seconds := object.GetDeletionGracePeriodSeconds(); seconds != nil {
		return *seconds
	}
	return 0
}

// mark stores the deletion timestamp and the grace period, in seconds, of an object.
func (s *Store[T]) mark(stored *storage.Object, object T, grace int64, dryRun bool) (rest.Answer, error) {
	s.setDeletion(object, grace)
	if s.Mark != nil {
		s.Mark(object)
	}
	next, err := s.internal(object, stored)
	if err != nil {
		return nil, err
	}
	if dryRun {
		return s.answer(unstored(next, stored)), nil
	}
	written, err := storage.CommitOne(s.Objects, storage.Update(next, stored.Version()))
	if err != nil {
		return nil, rest.StatusError(err, s.resource, object.GetName())
	}
	return s.answer(written), nil
}

// setDeletion sets the deletion timestamp: the grace period, in seconds, after the first delete.
func (s *Store[T]) setDeletion(object T, grace int64) {
	requested := metav1.Time{Time: s.Now().UTC()}.Rfc3339Copy()
	seconds := func(n int64) time.Duration { return time.Duration(n) * time.Second }
	if ends, before := object.GetDeletionTimestamp(), object.GetDeletionGracePeriodSeconds(); ends != nil && before != nil {
		requested.Time = ends.Add(-seconds(*before))
	} else if object.GetGeneration() > 0 {
		object.SetGeneration(object.GetGeneration() + 1)
	}
	requested.Time = requested.Add(seconds(grace))
	object.SetDeletionTimestamp(&requested)
	object.SetDeletionGracePeriodSeconds(&grace)
}

// remove deletes an object that has the version.
func (s *Store[T]) remove(key rest.Key, version uint64) error {
	changes := []storage.Change{storage.Delete(s.key(key), version)}
	if s.Remove != nil {
		changes = s.Remove(s.key(key), version)
	}
	_, err := s.Objects.Commit(changes...)
	return rest.StatusError(err, s.resource, key.Name)
}

// DeleteReturnsDeletedObject reports whether the answer to a delete is the object, or a status.
func (s *Store[T]) DeleteReturnsDeletedObject() bool { return s.AnswersDeleted }

// deleted returns the answer to a delete that has removed the object.
func (s *Store[T]) deleted(object T) rest.Answer {
	if s.AnswersDeleted {
		if s.Grace != nil {
			s.setDeletion(object, 0)
		}
		return rest.MakeAnswer(object)
	}
	return rest.MakeAnswer(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: object.GetName(), Group: s.resource.Group, Kind: s.resource.Resource, UID: object.GetUID()},
	})
}

// DeleteCollection implements rest.CollectionDeleter. It ignores objects that others delete meanwhile. When the
// context ends, it stops, and the objects that it has deleted stay deleted.
func (s *Store[T]) DeleteCollection(ctx context.Context, namespace string, options rest.ListOptions, deletion rest.DeleteOptions) (*rest.List, error) {
	list, err := s.List(ctx, namespace, options)
	if err != nil {
		return nil, err
	}
	for _, item := range list.Items {
		if err := rest.CheckTime(ctx); err != nil {
			return nil, err
		}
		_, err := s.Delete(ctx, rest.Key{Namespace: item.Key().Namespace, Name: item.Key().ID}, deletion)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return list, nil
}
