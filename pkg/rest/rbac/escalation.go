// Package rbac serves and stores the objects of role-based access control: the table of roles and
// bindings, their defaults, and a cached copy of them for an authorizer. Users can only grant rights
// that they have.
package rbac

import (
	"context"
	"errors"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/server/request"
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
	roles               *genericregistry.Store[*rbacv1.Role]
	roleBindings        *genericregistry.Store[*rbacv1.RoleBinding]
	clusterRoles        *genericregistry.Store[*rbacv1.ClusterRole]
	clusterRoleBindings *genericregistry.Store[*rbacv1.ClusterRoleBinding]
}

// rows has the rows of the table without their storages.
var rows = struct{ roles, roleBindings, clusterRoles, clusterRoleBindings rest.Resource }{
	roles:               rest.InNamespaces(rbacv1.SchemeGroupVersion, "Role", "roles", printers.Printer{}),
	roleBindings:        rest.InNamespaces(rbacv1.SchemeGroupVersion, "RoleBinding", "rolebindings", printers.RoleBindings),
	clusterRoles:        rest.ClusterScoped(rbacv1.SchemeGroupVersion, "ClusterRole", "clusterroles", printers.Printer{}),
	clusterRoleBindings: rest.ClusterScoped(rbacv1.SchemeGroupVersion, "ClusterRoleBinding", "clusterrolebindings", printers.ClusterRoleBindings),
}

func newStores(objects storage.Interface, now func() time.Time) stores {
	b := rest.Base{Objects: genericregistry.FreshCache{Interface: objects}, Now: now}
	return stores{
		roles: genericregistry.NewStore(b, rows.roles,
			strategy(nil, validation.ValidateRole, validation.ValidateRoleUpdate, func(role *rbacv1.Role) { role.Rules = orNone(role.Rules) })),
		roleBindings: genericregistry.NewStore(b, rows.roleBindings,
			strategy(defaults.RoleBinding, validation.ValidateRoleBinding, validation.ValidateRoleBindingUpdate, nil)),
		clusterRoles: genericregistry.NewStore(b, rows.clusterRoles,
			strategy(nil, validation.ValidateClusterRole, validation.ValidateClusterRoleUpdate, func(role *rbacv1.ClusterRole) { role.Rules = orNone(role.Rules) })),
		clusterRoleBindings: genericregistry.NewStore(b, rows.clusterRoleBindings,
			strategy(defaults.ClusterRoleBinding, validation.ValidateClusterRoleBinding, validation.ValidateClusterRoleBindingUpdate, nil)),
	}
}

func strategy[T rest.Object](setDefaults func(T), validate func(T) field.ErrorList, validateUpdate func(now, old T) field.ErrorList, canonicalize func(T)) genericregistry.Strategy[T] {
	return genericregistry.Strategy[T]{Default: setDefaults, Validate: validate, ValidateUpdate: validateUpdate, Canonicalize: canonicalize, AllowCreateOnUpdate: true}
}

// orNone returns nil for an empty list: today's server does not distinguish them.
func orNone(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	if len(rules) == 0 {
		return nil
	}
	return rules
}

// Escalation checks that users grant only rights that they have, unless an authorizer allows them to
// escalate or to bind a role, or they are members of system:masters. All fields must be set. It is
// safe for concurrent use.
type Escalation struct {
	// Authorizer decides about the verbs escalate and bind.
	Authorizer authorizer.Authorizer
	// CheckGrant returns an error that lists the wanted rules that the user does not have, in a
	// namespace or, if that is "", everywhere.
	CheckGrant func(who *user.Info, namespace string, wanted []rbacv1.PolicyRule) error
}

var (
	errAggregation = errors.New("must have cluster-admin privileges to use the aggregationRule")

	everything = []rbacv1.PolicyRule{
		{Verbs: []string{rbacv1.VerbAll}, APIGroups: []string{rbacv1.APIGroupAll}, Resources: []string{rbacv1.ResourceAll}},
		{Verbs: []string{rbacv1.VerbAll}, NonResourceURLs: []string{rbacv1.NonResourceAll}},
	}
)

func (e *Escalation) mayAll(ctx context.Context) bool {
	return slices.Contains(request.UserFrom(ctx).Groups, user.Masters)
}

// allows returns the decision of the authorizer. An error allows nothing.
func (e *Escalation) allows(ctx context.Context, verb, resource string, key rest.Key) bool {
	decision, _, err := e.Authorizer.Authorize(ctx, authorizer.Attributes{
		User: request.UserFrom(ctx), Verb: verb, IsResource: true,
		APIGroup: rbacv1.GroupName, APIVersion: "*", Resource: resource, Namespace: key.Namespace, Name: key.Name,
	})
	return err == nil && decision == authorizer.Allow
}

// mayGrant returns an error if the caller may not grant a role by a binding of this name. It
// ignores invalid references to roles, which the validation refuses.
func (e *Escalation) mayGrant(ctx context.Context, s stores, resource, namespace, name string, role rbacv1.RoleRef) error {
	at, roles := rest.Key{Name: role.Name, Namespace: namespace}, map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}[role.Kind]
	isWrong := roles == "" || (namespace == "" && role.Kind == "Role")
	if isWrong || role.APIGroup != rbacv1.GroupName || e.mayAll(ctx) || e.allows(ctx, "bind", roles, at) {
		return nil
	}
	rules, err := s.rulesOf(ctx, role.Kind, at)
	switch {
	case apierrors.IsNotFound(err): // in the words of today's server, which names the binding's kind
		return apierrors.NewNotFound(rbacv1.Resource(resource), role.Name)
	case err != nil:
		return err
	}
	return forbidden(resource, name, e.holds(ctx, namespace, rules))
}

func (s stores) rulesOf(ctx context.Context, kind string, key rest.Key) ([]rbacv1.PolicyRule, error) {
	get := s.roles.Get
	if kind == "ClusterRole" {
		get, key.Namespace = s.clusterRoles.Get, ""
	}
	answer, err := get(ctx, key)
	if err != nil {
		return nil, err
	}
	object, err := answer.Object()
	if err != nil {
		return nil, err
	}
	if role, ok := object.(*rbacv1.ClusterRole); ok {
		return role.Rules, nil
	}
	return object.(*rbacv1.Role).Rules, nil
}

// holds returns an error if the caller does not have all rights of some rules.
func (e *Escalation) holds(ctx context.Context, namespace string, rules []rbacv1.PolicyRule) error {
	return e.CheckGrant(request.UserFrom(ctx), namespace, rules)
}

// forbidden returns the status for an object that may not be stored, nil without a reason.
func forbidden(resource, name string, why error) error {
	if why == nil {
		return nil
	}
	return apierrors.NewForbidden(rbacv1.Resource(resource), name, why)
}

// guarded returns a storage of objects that grant rights. It stores an object only if the caller may grant them. As in today's
// server, that is checked before the validation.
func guarded[T rest.Object](store *genericregistry.Store[T], check func(ctx context.Context, key rest.Key, object, old T) error) genericregistry.Guarded[T] {
	return genericregistry.Guarded[T]{Store: store, Admitted: func(ctx context.Context, key rest.Key, object, old rest.Object) error {
		if old != nil && onlyForCollectors(object, old) {
			return nil
		}
		store.Default(object)
		was, _ := old.(T)
		return check(ctx, key, object.(T), was)
	}}
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

func (e *Escalation) ofRole(ctx context.Context, key rest.Key, role, _ *rbacv1.Role) error {
	if e.mayAll(ctx) || e.allows(ctx, "escalate", "roles", key) {
		return nil
	}
	return forbidden("roles", role.Name, e.holds(ctx, key.Namespace, role.Rules))
}

// ofClusterRole checks whether the caller may store a cluster role. One that aggregates other roles
// can have any rules; one that has done so would no longer lose rules.
func (e *Escalation) ofClusterRole(ctx context.Context, key rest.Key, role, old *rbacv1.ClusterRole) error {
	if e.mayAll(ctx) || e.allows(ctx, "escalate", "clusterroles", key) {
		return nil
	}
	err := e.holds(ctx, "", role.Rules)
	aggregates := func(role *rbacv1.ClusterRole) bool {
		return role != nil && role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) > 0
	}
	if err == nil && (aggregates(role) || aggregates(old)) && e.holds(ctx, "", everything) != nil {
		err = errAggregation
	}
	return forbidden("clusterroles", role.Name, err)
}
