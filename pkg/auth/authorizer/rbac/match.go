package rbac

import (
	"iter"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// granted yields the roles that a user has everywhere, then those in the namespace if there is
// one. For a missing role it yields an error. A grant is valid until the next one.
func (a *Authorizer) granted(who *user.Info, namespace string) iter.Seq2[*grant, error] {
	return func(yield func(*grant, error) bool) {
		var g grant
		try := func(kind, name, namespace string, subjects []rbacv1.Subject, role rbacv1.RoleRef) bool {
			subject := first(subjects, who, namespace)
			if subject == nil {
				return true
			}
			rules, err := a.RulesOf(role, namespace)
			g = grant{kind, name, namespace, role, subject, rules}
			return yield(&g, err)
		}
		for _, binding := range a.source.ClusterRoleBindings() {
			if !try("ClusterRoleBinding", binding.Name, "", binding.Subjects, binding.RoleRef) {
				return
			}
		}
		if namespace == "" {
			return
		}
		for _, binding := range a.source.RoleBindings(namespace) {
			if !try("RoleBinding", binding.Name, namespace, binding.Subjects, binding.RoleRef) {
				return
			}
		}
	}
}

// first returns the first subject that is the user, nil if there is none.
func first(subjects []rbacv1.Subject, who *user.Info, namespace string) *rbacv1.Subject {
	i := slices.IndexFunc(subjects, func(subject rbacv1.Subject) bool { return is(who, &subject, namespace) })
	if i < 0 {
		return nil
	}
	return &subjects[i]
}

// is reports whether a user is a subject of a binding. A service account without a namespace is in
// that of the binding.
func is(who *user.Info, subject *rbacv1.Subject, namespace string) bool {
	switch subject.Kind {
	case rbacv1.UserKind:
		return who.Name == subject.Name
	case rbacv1.GroupKind:
		return slices.Contains(who.Groups, subject.Name)
	case rbacv1.ServiceAccountKind:
		if subject.Namespace != "" {
			namespace = subject.Namespace
		}
		in, name, ok := user.SplitServiceAccount(who.Name)
		return ok && in == namespace && name == subject.Name
	}
	return false
}

// Allow reports whether one of the rules allows a request.
func Allow(rules []rbacv1.PolicyRule, a *authorizer.Attributes) bool {
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool { return allows(&rule, a) })
}

// allows reports whether a rule allows a request.
func allows(rule *rbacv1.PolicyRule, a *authorizer.Attributes) bool {
	if !has(rule.Verbs, a.Verb) {
		return false
	}
	if !a.IsResource {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool { return covers(url, a.Path) })
	}
	return has(rule.APIGroups, a.APIGroup) &&
		slices.ContainsFunc(rule.Resources, func(resource string) bool { return isResource(resource, a.Resource, a.Subresource) }) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.Name))
}

// has reports whether a list has a value, or *.
func has(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

// isResource reports whether a resource of a rule, such as pods, pods/log, */scale or *, matches
// that of a request. It allocates nothing.
func isResource(of, resource, subresource string) bool {
	if of == "*" {
		return true
	}
	if subresource == "" {
		return of == resource
	}
	if sub, ok := strings.CutPrefix(of, "*/"); ok && sub == subresource {
		return true
	}
	rest, ok := strings.CutPrefix(of, resource)
	return ok && len(rest) == len(subresource)+1 && rest[0] == '/' && rest[1:] == subresource
}

// covers reports whether a path of a rule, such as /healthz, /healthz/* or *, matches a path.
func covers(of, path string) bool {
	return of == path || strings.HasSuffix(of, "*") && strings.HasPrefix(path, strings.TrimRight(of, "*"))
}
