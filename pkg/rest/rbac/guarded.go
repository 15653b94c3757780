package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

// guarded is a storage of objects that give rights. Before one is stored, it is checked whether
// who asks may give them.
type guarded[T rest.Object] struct {
	*generic.Store[T]
	check func(ctx context.Context, key rest.Key, object T) error
}

// Create implements rest.Creater.
func (g guarded[T]) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	options.Admission = guard[T]{options.Admission, g, ctx, key}
	return g.Store.Create(ctx, key, object, options)
}

// Update implements rest.Updater. It may create an object too.
func (g guarded[T]) Update(ctx context.Context, key rest.Key, change rest.Change, options rest.WriteOptions) (rest.Answer, bool, error) {
	options.Admission = guard[T]{options.Admission, g, ctx, key}
	return g.Store.Update(ctx, key, change, options)
}

// guard asks an admission, and then whether who asks may store what that has made of an object.
type guard[T rest.Object] struct {
	admission rest.Admission // may be nil
	guarded   guarded[T]
	ctx       context.Context
	key       rest.Key
}

// Mutate implements rest.Admission. Rights are checked here, not in Validate: as on today's server, who may not
// give a right is told that before the object's mistakes.
func (g guard[T]) Mutate(object, old rest.Object) (rest.Object, error) {
	object, err := rest.WriteOptions{Admission: g.admission}.Mutate(object, old)
	if err != nil || (old != nil && onlyForCollectors(object, old)) {
		return object, err
	}
	return object, g.guarded.mayStore(g.ctx, g.key, object.(T))
}

// Validate implements rest.Admission.
func (g guard[T]) Validate(object, old rest.Object) error {
	return rest.WriteOptions{Admission: g.admission}.Validate(object, old)
}

// mayStore returns an error if who asks may not store an object. One that the store refuses
// without looking at it is left to the store.
func (g guarded[T]) mayStore(ctx context.Context, key rest.Key, object T) error {
	if g.Namespaced() && !rest.HasObjects(key.Namespace) {
		return nil
	}
	if setDefaults := g.Strategy.Default; setDefaults != nil {
		setDefaults(object)
	}
	return g.check(ctx, key, object)
}

// onlyForCollectors reports whether an object differs from an earlier version at most in what
// garbage collectors need to change, who have no other rights.
func onlyForCollectors(object, old rest.Object) bool {
	same := object.DeepCopyObject().(rest.Object)
	same.SetOwnerReferences(old.GetOwnerReferences())
	same.SetFinalizers(old.GetFinalizers())
	same.SetManagedFields(old.GetManagedFields())
	return equality.Semantic.DeepEqual(same, old)
}

// ofRole checks whether who asks may store a role.
func (e *Escalation) ofRole(ctx context.Context, key rest.Key, role *rbacv1.Role) error {
	if e.mayAll(ctx) || e.allows(ctx, "escalate", "roles", key) {
		return nil
	}
	return forbidden("roles", role.Name, e.holds(ctx, key.Namespace, role.Rules))
}

// ofClusterRole checks whether who asks may store a cluster role. One that gathers the rules of
// others can get any.
func (e *Escalation) ofClusterRole(ctx context.Context, key rest.Key, role *rbacv1.ClusterRole) error {
	if e.mayAll(ctx) || e.allows(ctx, "escalate", "clusterroles", key) {
		return nil
	}
	err := e.holds(ctx, "", role.Rules)
	if aggregation := role.AggregationRule; err == nil && aggregation != nil && len(aggregation.ClusterRoleSelectors) > 0 {
		if e.holds(ctx, "", everything) != nil {
			err = errAggregation
		}
	}
	return forbidden("clusterroles", role.Name, err)
}

// ofRoleBinding returns the check whether who asks may store a role binding.
func (e *Escalation) ofRoleBinding(s stores) func(context.Context, rest.Key, *rbacv1.RoleBinding) error {
	return func(ctx context.Context, key rest.Key, binding *rbacv1.RoleBinding) error {
		return e.mayGrant(ctx, s, "rolebindings", key.Namespace, binding.Name, binding.RoleRef)
	}
}

// ofClusterRoleBinding returns the check whether who asks may store a cluster role binding.
func (e *Escalation) ofClusterRoleBinding(s stores) func(context.Context, rest.Key, *rbacv1.ClusterRoleBinding) error {
	return func(ctx context.Context, _ rest.Key, binding *rbacv1.ClusterRoleBinding) error {
		return e.mayGrant(ctx, s, "clusterrolebindings", "", binding.Name, binding.RoleRef)
	}
}
