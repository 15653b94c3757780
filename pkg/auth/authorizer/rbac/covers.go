package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// maxParts bounds how many parts of rules are compared. The largest roles of today's server have
// about 2,000.
const maxParts = 20_000

// Covers returns the parts of the wanted rules that the held rules do not allow: each is a rule
// of one verb for one resource, one name of it, or one path. A short text may have very many
// parts; from the rule that exceeds a limit, the wanted rules are missing as a whole.
func Covers(held, wanted []rbacv1.PolicyRule) (missing []rbacv1.PolicyRule) {
	compared := 0
	for i := range wanted {
		rule := &wanted[i]
		if compared += size(rule); compared > maxParts {
			return append(missing, wanted[i:]...)
		}
		for _, part := range parts(rule) {
			if !slices.ContainsFunc(held, func(rule rbacv1.PolicyRule) bool { return part.in(&rule) }) {
				missing = append(missing, part.rule())
			}
		}
	}
	return missing
}

// size returns the number of a rule's parts, at most maxParts+1, so that it cannot overflow.
func size(rule *rbacv1.PolicyRule) int {
	n := len(rule.Verbs)
	for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.ResourceNames} {
		n = min(n*max(1, len(list)), maxParts+1)
	}
	return min(n+len(rule.Verbs)*len(rule.NonResourceURLs), maxParts+1)
}

// part is the smallest rule: one verb for a path, or for a resource of a group, with or without a name.
type part struct {
	verb, group, resource, name, path string
	isPath, hasName                   bool
}

func parts(rule *rbacv1.PolicyRule) (all []part) {
	for _, verb := range rule.Verbs {
		for _, path := range rule.NonResourceURLs {
			all = append(all, part{verb: verb, path: path, isPath: true})
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if len(rule.ResourceNames) == 0 {
					all = append(all, part{verb: verb, group: group, resource: resource})
				}
				for _, name := range rule.ResourceNames {
					all = append(all, part{verb: verb, group: group, resource: resource, name: name, hasName: true})
				}
			}
		}
	}
	return all
}

func (p *part) in(rule *rbacv1.PolicyRule) bool {
	if !has(rule.Verbs, p.verb) {
		return false
	}
	if p.isPath {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool { return covers(url, p.path) })
	}
	_, subresource, isSub := strings.Cut(p.resource, "/")
	return has(rule.APIGroups, p.group) &&
		slices.ContainsFunc(rule.Resources, func(of string) bool { return of == "*" || of == p.resource || isSub && of == "*/"+subresource }) &&
		(len(rule.ResourceNames) == 0 || p.hasName && slices.Contains(rule.ResourceNames, p.name))
}

func (p *part) rule() rbacv1.PolicyRule {
	if p.isPath {
		return rbacv1.PolicyRule{Verbs: []string{p.verb}, NonResourceURLs: []string{p.path}}
	}
	rule := rbacv1.PolicyRule{Verbs: []string{p.verb}, APIGroups: []string{p.group}, Resources: []string{p.resource}}
	if p.hasName {
		rule.ResourceNames = []string{p.name}
	}
	return rule
}
