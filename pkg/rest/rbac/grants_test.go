package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// rights are those of users by the bindings of a policy, in their simplest form: enough for what
// was recorded.
type rights struct{ *Policy }

// escalation returns a check by the rights of users.
func escalation(policy *Policy) *Escalation {
	return &Escalation{Authorizer: rights{policy}, CheckGrant: rights{policy}.checkGrant}
}

// of returns the rules of a user.
func (r rights) of(who *user.Info, namespace string) (rules []rbacv1.PolicyRule) {
	is := func(subject rbacv1.Subject) bool {
		return subject.Kind == "User" && subject.Name == who.Name || subject.Kind == "Group" && slices.Contains(who.Groups, subject.Name)
	}
	for _, binding := range r.ClusterRoleBindings() {
		if slices.ContainsFunc(binding.Subjects, is) && r.ClusterRole(binding.RoleRef.Name) != nil {
			rules = append(rules, r.ClusterRole(binding.RoleRef.Name).Rules...)
		}
	}
	for _, binding := range r.RoleBindings(namespace) {
		if slices.ContainsFunc(binding.Subjects, is) && r.Role(namespace, binding.RoleRef.Name) != nil {
			rules = append(rules, r.Role(namespace, binding.RoleRef.Name).Rules...)
		}
	}
	return rules
}

// Authorize implements authorizer.Authorizer.
func (r rights) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	for _, rule := range r.of(a.User, a.Namespace) {
		if slices.Contains(rule.Verbs, a.Verb) && slices.Contains(rule.APIGroups, a.APIGroup) && slices.Contains(rule.Resources, a.Resource) &&
			(rule.ResourceNames == nil || slices.Contains(rule.ResourceNames, a.Name)) {
			return authorizer.Allow, "", nil
		}
	}
	return authorizer.NoOpinion, "", nil
}

// checkGrant is Escalation.CheckGrant.
func (r rights) checkGrant(who *user.Info, namespace string, wanted []rbacv1.PolicyRule) error {
	missing, order := map[string][]string{}, []string{} // verbs, by the rest
	miss := func(what, verb string) {
		if missing[what] == nil {
			order = append(order, what)
		}
		missing[what] = append(missing[what], verb)
	}
	held := r.of(who, namespace)
	has := func(verb, group, resource, name, path string) bool {
		return slices.ContainsFunc(held, func(rule rbacv1.PolicyRule) bool {
			if path != "" {
				return slices.Contains(rule.Verbs, verb) && slices.Contains(rule.NonResourceURLs, path)
			}
			all := slices.Contains(rule.Verbs, "*")
			return (all || slices.Contains(rule.Verbs, verb)) && slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) &&
				(rule.ResourceNames == nil || slices.Contains(rule.ResourceNames, name))
		})
	}
	for _, rule := range wanted {
		for _, verb := range rule.Verbs {
			for _, path := range rule.NonResourceURLs {
				if !has(verb, "", "", "", path) {
					miss(fmt.Sprintf("NonResourceURLs:[%q], Verbs:[%q]", path, verb), "")
				}
			}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				names := rule.ResourceNames
				if names == nil {
					names = []string{""}
				}
				for _, name := range names {
					what := fmt.Sprintf("APIGroups:[%q], Resources:[%q]", group, resource)
					if name != "" {
						what += fmt.Sprintf(", ResourceNames:[%q]", name)
					}
					for _, verb := range rule.Verbs {
						if !has(verb, group, resource, name, "") {
							miss(what, verb)
						}
					}
				}
			}
		}
	}
	var lines []string
	for _, what := range order {
		if verbs := missing[what]; verbs[0] != "" {
			what += fmt.Sprintf(", Verbs:%q", verbs)
		}
		lines = append(lines, "{"+what+"}")
	}
	if slices.Sort(lines); len(lines) == 0 {
		return nil
	}
	return errors.New(fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n", who.Name, who.Groups) + strings.Join(lines, "\n"))
}
