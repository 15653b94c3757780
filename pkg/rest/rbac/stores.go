package rbac

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
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

// base is what the stores share.
type base struct {
	objects storage.Interface
	codec   *v1.Codec
	turns   *generic.Turns
	now     func() time.Time
}

func makeStores(objects storage.Interface, scheme v1.Converter, now func() time.Time) stores {
	b := base{atOnce{objects}, &v1.Codec{Scheme: scheme}, &generic.Turns{}, now}
	return stores{
		roles: makeStore(b, api.RoleKind, "Role", "roles", true,
			strategy(nil, validation.ValidateRole, validation.ValidateRoleUpdate, func(role *rbacv1.Role) { role.Rules = orNone(role.Rules) })),
		roleBindings: makeStore(b, api.RoleBindingKind, "RoleBinding", "rolebindings", true,
			strategy(defaults.RoleBinding, validation.ValidateRoleBinding, validation.ValidateRoleBindingUpdate, nil)),
		clusterRoles: makeStore(b, api.ClusterRoleKind, "ClusterRole", "clusterroles", false,
			strategy(nil, validation.ValidateClusterRole, validation.ValidateClusterRoleUpdate, func(role *rbacv1.ClusterRole) { role.Rules = orNone(role.Rules) })),
		clusterRoleBindings: makeStore(b, api.ClusterRoleBindingKind, "ClusterRoleBinding", "clusterrolebindings", false,
			strategy(defaults.ClusterRoleBinding, validation.ValidateClusterRoleBinding, validation.ValidateClusterRoleBindingUpdate, nil)),
	}
}

func makeStore[T rest.Object](b base, internal api.Kind, kind, resource string, namespaced bool, strategy generic.Strategy[T]) *generic.Store[T] {
	return &generic.Store[T]{
		Encoding: rest.NewEncoding(group.WithKind(kind), b.codec), Resource: rbacv1.Resource(resource), Internal: internal, Namespaced: namespaced, Labelled: true,
		Objects: b.objects, Turns: b.turns, Now: b.now, Strategy: strategy,
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
