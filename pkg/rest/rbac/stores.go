package rbac

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

var group = rbacv1.SchemeGroupVersion

// stores are the storages of the four kinds, which do not check who may grant what.
type stores struct {
	roles               *generic.Store[*rbacv1.Role]
	roleBindings        *generic.Store[*rbacv1.RoleBinding]
	clusterRoles        *generic.Store[*rbacv1.ClusterRole]
	clusterRoleBindings *generic.Store[*rbacv1.ClusterRoleBinding]
}

// rows are the four kinds, without their storages.
var rows = struct{ roles, roleBindings, clusterRoles, clusterRoleBindings rest.Resource }{
	roles:               row("Role", "roles", "role", true, printers.Printer{}),
	roleBindings:        row("RoleBinding", "rolebindings", "rolebinding", true, printers.RoleBindings),
	clusterRoles:        row("ClusterRole", "clusterroles", "clusterrole", false, printers.Printer{}),
	clusterRoleBindings: row("ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding", false, printers.ClusterRoleBindings),
}

func row(kind, name, singular string, namespaced bool, printer printers.Printer) rest.Resource {
	return rest.Resource{GroupVersion: group, Kind: group.WithKind(kind), Name: name, Singular: singular, Namespaced: namespaced, Stored: api.Kind(name), Printer: printer}
}

func makeStores(objects storage.Interface, now func() time.Time) stores {
	b := generic.Base{Objects: atOnce{objects}, Turns: &generic.Turns{}, Now: now}
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

// orNone makes an empty list none: today's server does not tell the two apart.
func orNone(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	if len(rules) == 0 {
		return nil
	}
	return rules
}
