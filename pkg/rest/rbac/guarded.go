package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

// guarded is a storage of objects that grant rights. It stores an object only if the caller may grant
// them.
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

// guard is an admission that also checks whether the caller may store the object that another
// admission returns.
type guard[T rest.Object] struct {
	admission rest.Admission // may be nil
	guarded   guarded[T]
	ctx       context.Context
	key       rest.Key
}

// Mutate implements rest.Admission. It checks the rights before the validation, as today's server does.
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

// mayStore returns an error if the caller may not store an object. It ignores objects in unknown
// namespaces, which the store refuses.
func (g guarded[T]) mayStore(ctx context.Context, key rest.Key, object T) error {
	if g.Namespaced() && !rest.HasObjects(key.Namespace) {
		return nil
	}
	if setDefaults := g.Strategy.Default; setDefaults != nil {
		setDefaults(object)
	}
	return g.check(ctx, key, object)
}

// onlyForCollectors reports whether an update changes only the fields that garbage collectors, which
// have no other rights, must be able to change.
func onlyForCollectors(object, old rest.Object) bool {
	same := object.DeepCopyObject().(rest.Object)
	same.SetOwnerReferences(old.GetOwnerReferences())
	same.SetFinalizers(old.GetFinalizers())
	same.SetManagedFields(old.GetManagedFields())
	return equality.Semantic.DeepEqual(same, old)
}

// ofRole checks whether the caller may store a role.
func (e *Escalation) ofRole(ctx context.Context, key rest.Key, role *rbacv1.Role) error {
	if e.mayAll(ctx) || e.allows(ctx, "escalate", "roles", key) {
		return nil
	}
	return forbidden("roles", role.Name, e.holds(ctx, key.Namespace, role.Rules))
}

// ofClusterRole checks whether the caller may store a cluster role. One that aggregates other roles
// can have any rules.
func (e *Escalation) ofClusterRole(ctx context.Context, key rest.Key, role *rbacv1.ClusterRole) error {
	if e.mayAll(ctx) || e.allows(ctx, "escalate", "clusterroles", key) {
		return nil
	}
	err := e.holds(ctx, "", role.Rules)
	aggregates := role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) > 0
	if err == nil && aggregates && e.holds(ctx, "", everything) != nil {
		err = errAggregation
	}
	return forbidden("clusterroles", role.Name, err)
}
