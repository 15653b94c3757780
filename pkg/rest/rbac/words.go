package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// inWords returns what rules allow, one line for each, sorted. Those of one resource are
// told together, with all their verbs.
func inWords(rules []rbacv1.PolicyRule) (lines []string) {
	together := map[string]int{} // the places of the rules of a resource
	var told []rbacv1.PolicyRule
	for _, rule := range rules {
		resource := rule
		resource.Verbs = nil
		key := ruleInWords(resource)
		at, known := together[key]
		switch {
		case known && isOfOneResource(rule):
			told[at].Verbs = append(slices.Clip(told[at].Verbs), rule.Verbs...)
		default:
			together[key] = len(told)
			told = append(told, rule)
		}
	}
	for _, rule := range told {
		lines = append(lines, ruleInWords(rule))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func isOfOneResource(rule rbacv1.PolicyRule) bool {
	return len(rule.APIGroups) == 1 && len(rule.Resources) == 1 && len(rule.ResourceNames) <= 1 && len(rule.NonResourceURLs) == 0
}

// ruleInWords returns a rule in the form in which today's server shows it.
func ruleInWords(rule rbacv1.PolicyRule) string {
	var parts []string
	for _, part := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", rule.APIGroups},
		{"Resources", rule.Resources},
		{"NonResourceURLs", rule.NonResourceURLs},
		{"ResourceNames", rule.ResourceNames},
		{"Verbs", rule.Verbs},
	} {
		if len(part.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", part.name, part.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
