package rbac

import (
	"context"
	"errors"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

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

// mayAll reports whether the caller may do everything.
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

// rulesOf returns the rules of a role.
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
