package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/auth/user"
)

// EscalationError refuses a user who tries to grant rights that they do not have.
type EscalationError struct {
	Who     *user.Info
	Missing []rbacv1.PolicyRule // as Covers returns them
	Why     error               // the user's roles that do not exist, or nil
}

// Error lists the missing rules in the words of today's server, with all verbs for one resource in
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

// CheckGrant returns an *EscalationError if a user does not have all wanted rules in a namespace,
// or everywhere if that is "". The caller must check who may escalate, bind, or do everything.
func (a *Authorizer) CheckGrant(who *user.Info, namespace string, wanted []rbacv1.PolicyRule) error {
	held, why := a.held(who, namespace)
	if missing := Covers(held, wanted); len(missing) > 0 {
		return &EscalationError{who, missing, why}
	}
	return nil
}

// compact merges the verbs for the same resource and name.
func compact(rules []rbacv1.PolicyRule) (compacted []rbacv1.PolicyRule) {
	places := map[part]int{} // by the part without its verb
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
