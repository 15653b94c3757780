// Package rbac authorizes by roles, and by the bindings that grant them to users, groups and
// service accounts.
package rbac

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// Source has roles and bindings. Each request calls it, so it answers from memory. It is safe for
// concurrent use; the objects that it returns are shared and must not be changed.
type Source interface {
	ClusterRole(name string) *rbacv1.ClusterRole // nil if there is none
	Role(namespace, name string) *rbacv1.Role    // nil if there is none
	ClusterRoleBindings() []*rbacv1.ClusterRoleBinding
	RoleBindings(namespace string) []*rbacv1.RoleBinding
}

// Authorizer decides by the roles of a source, and lists their rules. It is safe for concurrent
// use.
type Authorizer struct{ source Source }

// New returns an authorizer.
func New(source Source) *Authorizer { return &Authorizer{source} }

// Authorize allows what a rule allows, and has no opinion on the rest. The reason then names the
// missing roles.
func (a *Authorizer) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	var missing []error
	for granted, err := range a.granted(attributes.User, attributes.Namespace) {
		if err != nil {
			missing = append(missing, err)
			continue
		}
		for i := range granted.rules {
			if allows(&granted.rules[i], &attributes) {
				return authorizer.Allow, "RBAC: allowed by " + granted.String(), nil
			}
		}
	}
	if len(missing) > 0 {
		return authorizer.NoOpinion, "RBAC: " + utilerrors.NewAggregate(missing).Error(), nil
	}
	return authorizer.NoOpinion, "", nil
}

// RulesFor lists the rules of a user. Why names the missing roles.
func (a *Authorizer) RulesFor(_ context.Context, who *user.Info, namespace string) (rules []authorizer.Rule, incomplete bool, why error) {
	held, why := a.held(who, namespace)
	for _, rule := range held {
		if len(rule.Resources) > 0 {
			rules = append(rules, authorizer.Rule{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames})
		}
		if len(rule.NonResourceURLs) > 0 {
			rules = append(rules, authorizer.Rule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
	}
	return rules, false, why
}

// held returns all rules of a user in a namespace. The error names the missing roles.
func (a *Authorizer) held(who *user.Info, namespace string) (rules []rbacv1.PolicyRule, err error) {
	var missing []error
	for granted, err := range a.granted(who, namespace) {
		if err != nil {
			missing = append(missing, err)
			continue
		}
		rules = append(rules, granted.rules...)
	}
	return rules, utilerrors.NewAggregate(missing)
}

// RulesOf returns the rules of a role that a binding in a namespace, "" for none, refers to. The
// error names a role that does not exist.
func (a *Authorizer) RulesOf(role rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch role.Kind {
	case "ClusterRole":
		if found := a.source.ClusterRole(role.Name); found != nil {
			return found.Rules, nil
		}
	case "Role":
		if found := a.source.Role(namespace, role.Name); found != nil {
			return found.Rules, nil
		}
	default:
		return nil, fmt.Errorf("unsupported role reference kind: %q", role.Kind)
	}
	return nil, fmt.Errorf("%s.%s %q not found", strings.ToLower(role.Kind), rbacv1.GroupName, role.Name)
}

// grant is a role that a binding grants to a user.
type grant struct {
	kind, name, namespace string // of the binding
	role                  rbacv1.RoleRef
	subject               *rbacv1.Subject // of the binding, that is the user
	rules                 []rbacv1.PolicyRule
}

// String names the binding, the role and the subject. A name comes before its namespace.
func (g *grant) String() string {
	name, subject := g.name, g.subject.Name
	if g.namespace != "" {
		name += "/" + g.namespace
	}
	if g.subject.Kind == rbacv1.ServiceAccountKind {
		if subject += "/"; g.subject.Namespace != "" {
			subject += g.subject.Namespace
		} else {
			subject += g.namespace
		}
	}
	return g.kind + " " + strconv.Quote(name) + " of " + g.role.Kind + " " + strconv.Quote(g.role.Name) + " to " + g.subject.Kind + " " + strconv.Quote(subject)
}
