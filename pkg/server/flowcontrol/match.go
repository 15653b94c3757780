package flowcontrol

import (
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// matches reports whether one of the rules of a flow schema is for a request.
func matches(rules []flowcontrolv1.PolicyRulesWithSubjects, a *authorizer.Attributes) bool {
	for i := range rules {
		rule := &rules[i]
		if !slices.ContainsFunc(rule.Subjects, func(s flowcontrolv1.Subject) bool { return isSubject(&s, a.User) }) {
			continue
		}
		if a.IsResource && matchesResource(rule.ResourceRules, a) || !a.IsResource && matchesPath(rule.NonResourceRules, a) {
			return true
		}
	}
	return false
}

func isSubject(s *flowcontrolv1.Subject, who *user.Info) bool {
	switch {
	case s.Kind == flowcontrolv1.SubjectKindUser && s.User != nil:
		return s.User.Name == flowcontrolv1.NameAll || s.User.Name == who.Name
	case s.Kind == flowcontrolv1.SubjectKindGroup && s.Group != nil:
		return s.Group.Name == flowcontrolv1.NameAll || slices.Contains(who.Groups, s.Group.Name)
	case s.Kind == flowcontrolv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		account, isAccount := strings.CutPrefix(who.Name, user.ServiceAccountPrefix)
		name, isIn := strings.CutPrefix(account, s.ServiceAccount.Namespace)
		return isAccount && isIn && name != "" && name[0] == ':' && (s.ServiceAccount.Name == flowcontrolv1.NameAll || s.ServiceAccount.Name == name[1:])
	}
	return false
}

func matchesResource(rules []flowcontrolv1.ResourcePolicyRule, a *authorizer.Attributes) bool {
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	for i := range rules {
		rule := &rules[i]
		if !has(rule.Verbs, a.Verb) || !has(rule.Resources, resource) || !has(rule.APIGroups, a.APIGroup) {
			continue
		}
		if a.Namespace == "" && rule.ClusterScope || a.Namespace != "" && has(rule.Namespaces, a.Namespace) {
			return true
		}
	}
	return false
}

// matchesPath also matches what is below a path in a rule, with or without a star.
func matchesPath(rules []flowcontrolv1.NonResourcePolicyRule, a *authorizer.Attributes) bool {
	for i := range rules {
		if !has(rules[i].Verbs, a.Verb) {
			continue
		}
		for _, path := range rules[i].NonResourceURLs {
			if path == flowcontrolv1.NonResourceAll || path == a.Path {
				return true
			}
			below, ok := strings.CutPrefix(a.Path, strings.TrimSuffix(strings.TrimSuffix(path, "*"), "/"))
			if ok && strings.HasPrefix(below, "/") {
				return true
			}
		}
	}
	return false
}

// has reports whether a list has a text, or is nothing but a star.
func has(list []string, text string) bool {
	return len(list) == 1 && list[0] == "*" || slices.Contains(list, text)
}
