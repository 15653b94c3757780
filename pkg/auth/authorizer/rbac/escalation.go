package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/auth/user"
)

// EscalationError is that of somebody who tries to give rights that they do not have.
type EscalationError struct {
	Who     *user.Info
	Missing []rbacv1.PolicyRule // as Covers returns them
	Why     error               // which roles of theirs there are not, or nil
}

// Error tells what is missing, in the words of today's server, with the verbs for one resource in
// one line.
func (e *EscalationError) Error() string {
	var lines []string
	for _, rule := range compact(e.Missing) {
		lines = append(lines, describe(rule))
	}
	slices.Sort(lines)
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", e.Who.Name, e.Who.Groups, strings.Join(slices.Compact(lines), "\n"))
	if e.Why != nil {
		text += fmt.Sprintf("; resolution errors: [%v]", e.Why)
	}
	return text
}

// CheckGrant is an *EscalationError if somebody does not have themselves, in a namespace or
// everywhere, what they want to give. Who may escalate, bind, or do everything is the
// caller's concern.
func (a *Authorizer) CheckGrant(who *user.Info, namespace string, wanted []rbacv1.PolicyRule) error {
	held, why := a.held(who, namespace)
	if missing := Covers(held, wanted); len(missing) > 0 {
		return &EscalationError{who, missing, why}
	}
	return nil
}

// compact puts the verbs for the same resource and name together.
func compact(rules []rbacv1.PolicyRule) (compacted []rbacv1.PolicyRule) {
	places := map[part]int{} // of what they are about, without a verb
	for _, rule := range rules {
		if len(rule.APIGroups) != 1 || len(rule.Resources) != 1 || len(rule.ResourceNames) > 1 {
			compacted = append(compacted, rule)
			continue
		}
		about := part{group: rule.APIGroups[0], resource: rule.Resources[0], name: strings.Join(rule.ResourceNames, ""), hasName: len(rule.ResourceNames) > 0}
		if place, ok := places[about]; ok {
			compacted[place].Verbs = append(slices.Clip(compacted[place].Verbs), rule.Verbs...)
			continue
		}
		places[about] = len(compacted)
		compacted = append(compacted, rule)
	}
	return compacted
}

// describe is a rule in a line.
func describe(rule rbacv1.PolicyRule) string {
	var members []string
	for _, member := range []struct {
		name   string
		values []string
	}{{"APIGroups", rule.APIGroups}, {"Resources", rule.Resources}, {"NonResourceURLs", rule.NonResourceURLs}, {"ResourceNames", rule.ResourceNames}, {"Verbs", rule.Verbs}} {
		if len(member.values) > 0 {
			members = append(members, fmt.Sprintf("%s:%q", member.name, member.values))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}
