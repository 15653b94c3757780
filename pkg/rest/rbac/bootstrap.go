package rbac

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Bootstrap creates the default roles and bindings, and restores missing parts of existing ones. It
// does not remove additional parts, does not change objects that are annotated not to be updated,
// and does not write complete objects. It is safe to run on several servers at once, and to repeat
// after an error.
func Bootstrap(ctx context.Context, objects storage.Interface, now func() time.Time) error {
	s := newStores(objects, now)
	var errs []error
	for _, role := range defaultRoles() {
		if err := s.repairRole(ctx, role); err != nil {
			errs = append(errs, fmt.Errorf("the default cluster role %s: %w", role.Name, err))
		}
	}
	for _, binding := range defaultBindings() {
		if err := s.repairBinding(ctx, binding); err != nil {
			errs = append(errs, fmt.Errorf("the default cluster role binding %s: %w", binding.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (s stores) repairRole(ctx context.Context, wanted *rbacv1.ClusterRole) error {
	_, _, err := s.clusterRoles.Update(ctx, rest.Key{Name: wanted.Name}, func(current rest.Object) (rest.Object, error) {
		if current == nil {
			return wanted.DeepCopy(), nil
		}
		role := current.(*rbacv1.ClusterRole)
		if isFixed(role) {
			return role, nil
		}
		repairMeta(role, wanted)
		role.Rules = with(role.Rules, wanted.Rules)
		return role, nil
	}, rest.WriteOptions{})
	return err
}

// errOtherRole ends the repair of a binding that refers to another role.
var errOtherRole = errors.New("it grants another role, and does not go away")

func (s stores) repairBinding(ctx context.Context, wanted *rbacv1.ClusterRoleBinding) error {
	for range 3 { // others may change it at the same time
		var other metav1.Preconditions
		_, _, err := s.clusterRoleBindings.Update(ctx, rest.Key{Name: wanted.Name}, func(current rest.Object) (rest.Object, error) {
			if current == nil {
				return wanted.DeepCopy(), nil
			}
			binding := current.(*rbacv1.ClusterRoleBinding)
			if isFixed(binding) {
				return binding, nil
			}
			if binding.RoleRef != wanted.RoleRef {
				other.UID = &binding.UID
				return nil, errOtherRole
			}
			repairMeta(binding, wanted)
			binding.Subjects = with(binding.Subjects, wanted.Subjects)
			return binding, nil
		}, rest.WriteOptions{})
		if !errors.Is(err, errOtherRole) {
			return err
		}
		// The role of a binding is immutable: the binding is created again.
		_, err = s.clusterRoleBindings.Delete(ctx, rest.Key{Name: wanted.Name}, rest.DeleteOptions{DeleteOptions: metav1.DeleteOptions{Preconditions: &other}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return errOtherRole
}

// isFixed reports whether an object must not be repaired.
func isFixed(object rest.Object) bool { return object.GetAnnotations()[autoupdate] == "false" }

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
