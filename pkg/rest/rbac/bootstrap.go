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

// Bootstrap makes the roles and bindings that every server has, and puts back what they lack. What
// they have besides stays, and so does one that is annotated not to be updated. What is as it
// should be is not written. Several servers may do this at once, and it may be done again when it
// fails.
func Bootstrap(ctx context.Context, objects storage.Interface, now func() time.Time) error {
	s := makeStores(objects, now)
	var errs []error
	for _, role := range defaultRoles() {
		errs = append(errs, failed("cluster role", role, s.repairRole(ctx, role)))
	}
	for _, binding := range defaultBindings() {
		errs = append(errs, failed("cluster role binding", binding, s.repairBinding(ctx, binding)))
	}
	return errors.Join(errs...)
}

func failed(kind string, object rest.Object, err error) error {
	if err != nil {
		err = fmt.Errorf("the default %s %s: %w", kind, object.GetName(), err)
	}
	return err
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

// errOtherRole ends the repair of a binding of another role.
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
		// The role of a binding cannot be changed: it is made anew.
		_, err = s.clusterRoleBindings.Delete(ctx, rest.Key{Name: wanted.Name}, rest.DeleteOptions{DeleteOptions: metav1.DeleteOptions{Preconditions: &other}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return errOtherRole
}

// isFixed reports whether an object is to stay as it is.
func isFixed(object rest.Object) bool { return object.GetAnnotations()[autoupdate] == "false" }

// repairMeta adds the labels and annotations that an object lacks.
func repairMeta(object, wanted rest.Object) {
	object.SetLabels(both(wanted.GetLabels(), object.GetLabels()))
	object.SetAnnotations(both(wanted.GetAnnotations(), object.GetAnnotations()))
}

// both returns what two maps have, and of the second one what both have.
func both(first, second map[string]string) map[string]string {
	joined := maps.Clone(first)
	maps.Copy(joined, second)
	return joined
}

// with returns a list that has others too.
func with[T any](list, others []T) []T {
	for _, other := range others {
		if !slices.ContainsFunc(list, func(one T) bool { return equality.Semantic.DeepEqual(one, other) }) {
			list = append(list, other)
		}
	}
	return list
}
