// Package rbac serves and stores the objects of role-based access control: the table of roles and
// bindings, their defaults, and a cached copy of them for an authorizer. Users can only grant rights
// that they have.
package rbac

import (
	"context"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

// Resources returns the table of roles and bindings. Without an escalation check everybody may
// grant everything.
func Resources(objects storage.Interface, now func() time.Time, check *Escalation) []rest.Resource {
	s := newStores(objects, now)
	if check == nil {
		return []rest.Resource{rows.clusterRoleBindings.With(s.clusterRoleBindings), rows.clusterRoles.With(s.clusterRoles),
			rows.roleBindings.With(s.roleBindings), rows.roles.With(s.roles)}
	}
	ofClusterRoleBinding := func(ctx context.Context, _ rest.Key, binding, _ *rbacv1.ClusterRoleBinding) error {
		return check.mayGrant(ctx, s, "clusterrolebindings", "", binding.Name, binding.RoleRef)
	}
	ofRoleBinding := func(ctx context.Context, key rest.Key, binding, _ *rbacv1.RoleBinding) error {
		return check.mayGrant(ctx, s, "rolebindings", key.Namespace, binding.Name, binding.RoleRef)
	}
	return []rest.Resource{
		rows.clusterRoleBindings.With(guarded(s.clusterRoleBindings, ofClusterRoleBinding)),
		rows.clusterRoles.With(guarded(s.clusterRoles, check.ofClusterRole)),
		rows.roleBindings.With(guarded(s.roleBindings, ofRoleBinding)),
		rows.roles.With(guarded(s.roles, check.ofRole)),
	}
}

// stores has the storages of the four kinds, without the escalation check.
type stores struct {
	roles               *generic.Store[*rbacv1.Role]
	roleBindings        *generic.Store[*rbacv1.RoleBinding]
	clusterRoles        *generic.Store[*rbacv1.ClusterRole]
	clusterRoleBindings *generic.Store[*rbacv1.ClusterRoleBinding]
}

// rows has the rows of the table without their storages.
var rows = struct{ roles, roleBindings, clusterRoles, clusterRoleBindings rest.Resource }{
	roles:               rest.InNamespaces(rbacv1.SchemeGroupVersion, "Role", "roles", printers.Printer{}),
	roleBindings:        rest.InNamespaces(rbacv1.SchemeGroupVersion, "RoleBinding", "rolebindings", printers.RoleBindings),
	clusterRoles:        rest.ClusterScoped(rbacv1.SchemeGroupVersion, "ClusterRole", "clusterroles", printers.Printer{}),
	clusterRoleBindings: rest.ClusterScoped(rbacv1.SchemeGroupVersion, "ClusterRoleBinding", "clusterrolebindings", printers.ClusterRoleBindings),
}

func newStores(objects storage.Interface, now func() time.Time) stores {
	b := generic.Base{Objects: generic.AtOnce{Interface: objects}, Turns: &generic.Turns{}, Now: now}
	return stores{
		roles: generic.NewStore(b, rows.roles,
			strategy(nil, validation.ValidateRole, validation.ValidateRoleUpdate, func(role *rbacv1.Role) { role.Rules = orNone(role.Rules) })),
		roleBindings: generic.NewStore(b, rows.roleBindings,
			strategy(defaults.RoleBinding, validation.ValidateRoleBinding, validation.ValidateRoleBindingUpdate, nil)),
		clusterRoles: generic.NewStore(b, rows.clusterRoles,
			strategy(nil, validation.ValidateClusterRole, validation.ValidateClusterRoleUpdate, func(role *rbacv1.ClusterRole) { role.Rules = orNone(role.Rules) })),
		clusterRoleBindings: generic.NewStore(b, rows.clusterRoleBindings,
			strategy(defaults.ClusterRoleBinding, validation.ValidateClusterRoleBinding, validation.ValidateClusterRoleBindingUpdate, nil)),
	}
}

func strategy[T rest.Object](setDefaults func(T), validate func(T) field.ErrorList, validateUpdate func(now, old T) field.ErrorList, canonicalize func(T)) generic.Strategy[T] {
	return generic.Strategy[T]{Default: setDefaults, Validate: validate, ValidateUpdate: validateUpdate, Canonicalize: canonicalize, AllowCreateOnUpdate: true}
}

// orNone returns nil for an empty list: today's server does not distinguish them.
func orNone(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	if len(rules) == 0 {
		return nil
	}
	return rules
}
