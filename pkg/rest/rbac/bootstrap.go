package rbac

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// writers is the number of objects that are written at once: a write on etcd is mostly a wait for its disk.
const writers = 8

// Bootstrap creates the default roles and bindings, and restores missing parts of existing ones. It
// does not remove additional parts, does not change objects that are annotated not to be updated,
// and does not write complete objects. It is safe to run on several servers at once, and to repeat
// after an error.
func Bootstrap(ctx context.Context, objects storage.Interface, now func() time.Time) error {
	s, defaults := newStores(objects, now), Defaults()
	errs, next := make([]error, len(defaults)), make(chan int)
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for i := range next {
				wanted := defaults[i]
				kind, store := s.of(wanted)
				if err := repair(ctx, store, wanted); err != nil {
					errs[i] = fmt.Errorf("the default %s %s: %w", kind, path.Join(wanted.GetNamespace(), wanted.GetName()), err)
				}
			}
		})
	}
	for i := range defaults {
		next <- i
	}
	close(next)
	writing.Wait()
	return errors.Join(errs...)
}

// writer is what a repair needs of a storage.
type writer interface {
	rest.Updater
	rest.Deleter
}

// of returns the kind of an object, in words, and the storage of its kind.
func (s stores) of(object rest.Object) (kind string, store writer) {
	switch object.(type) {
	case *rbacv1.ClusterRole:
		return "cluster role", s.clusterRoles
	case *rbacv1.ClusterRoleBinding:
		return "cluster role binding", s.clusterRoleBindings
	case *rbacv1.Role:
		return "role", s.roles
	default:
		return "role binding", s.roleBindings
	}
}

// errOtherRole ends the repair of a binding that refers to another role.
var errOtherRole = errors.New("it grants another role, and does not go away")

func repair(ctx context.Context, store writer, wanted rest.Object) error {
	key := rest.Key{Namespace: wanted.GetNamespace(), Name: wanted.GetName()}
	for range 3 { // others may change it at the same time; the wanted object itself is stored at most once
		var other metav1.Preconditions
		_, _, err := store.Update(ctx, key, func(current rest.Object) (rest.Object, error) {
			if current == nil {
				return wanted, nil
			}
			if current.GetAnnotations()[autoupdate] == "false" {
				return current, nil
			}
			uid := current.GetUID()
			other.UID = &uid
			repairMeta(current, wanted)
			return current, repairParts(current, wanted)
		}, rest.AsServer())
		if !errors.Is(err, errOtherRole) {
			return err
		}
		// The role of a binding is immutable: the binding is created again.
		_, err = store.Delete(ctx, key, rest.DeleteOptions{DeleteOptions: metav1.DeleteOptions{Preconditions: &other}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return errOtherRole
}

// repairParts adds the rules, selectors and subjects that an object lacks. The error is errOtherRole for a binding of
// another role.
func repairParts(object, wanted rest.Object) error {
	switch object := object.(type) {
	case *rbacv1.ClusterRole:
		wanted := wanted.(*rbacv1.ClusterRole)
		object.Rules = with(object.Rules, wanted.Rules)
		if rule := object.AggregationRule; rule != nil && wanted.AggregationRule != nil {
			rule.ClusterRoleSelectors = with(rule.ClusterRoleSelectors, wanted.AggregationRule.ClusterRoleSelectors)
		} else {
			object.AggregationRule = wanted.AggregationRule.DeepCopy()
		}
	case *rbacv1.Role:
		object.Rules = with(object.Rules, wanted.(*rbacv1.Role).Rules)
	case *rbacv1.ClusterRoleBinding:
		wanted := wanted.(*rbacv1.ClusterRoleBinding)
		object.Subjects = with(object.Subjects, wanted.Subjects)
		return ifOther(object.RoleRef, wanted.RoleRef)
	case *rbacv1.RoleBinding:
		wanted := wanted.(*rbacv1.RoleBinding)
		object.Subjects = with(object.Subjects, wanted.Subjects)
		return ifOther(object.RoleRef, wanted.RoleRef)
	}
	return nil
}

func ifOther(role, wanted rbacv1.RoleRef) error {
	if role != wanted {
		return errOtherRole
	}
	return nil
}

// repairMeta adds the labels and annotations that an object lacks.
func repairMeta(object, wanted rest.Object) {
	labels, annotations := maps.Clone(wanted.GetLabels()), maps.Clone(wanted.GetAnnotations())
	maps.Copy(labels, object.GetLabels())
	maps.Copy(annotations, object.GetAnnotations())
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
}

// with returns a list with the missing elements of another one.
func with[T any](list, others []T) []T {
	for _, other := range others {
		if !slices.ContainsFunc(list, func(one T) bool { return equality.Semantic.DeepEqual(one, other) }) {
			list = append(list, other)
		}
	}
	return list
}
