package rbac_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/rbac"
	"kube2014/pkg/auth/user"
)

// some returns one or two of the words.
func some(random *rand.Rand, words ...string) (picked []string) {
	for range 1 + random.IntN(2) {
		picked = append(picked, words[random.IntN(len(words))])
	}
	return picked
}

func someRules(random *rand.Rand) (rules []rbacv1.PolicyRule) {
	for range 1 + random.IntN(3) {
		rule := rbacv1.PolicyRule{Verbs: some(random, "get", "list", "*")}
		if random.IntN(3) == 0 {
			rule.NonResourceURLs = some(random, "/a", "/a/b", "/a/*", "/a*", "*")
		} else {
			rule.APIGroups, rule.Resources = some(random, "", "apps", "*"), some(random, "pods", "pods/log", "*/log", "nodes", "*")
			if random.IntN(2) == 0 {
				rule.ResourceNames = some(random, "x", "y")
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

// everything is what may be asked about the words of someRules, and words near them.
func everything() (all []authorizer.Attributes) {
	for _, verb := range []string{"get", "list", "watch"} {
		for _, path := range []string{"/", "/a", "/a/", "/a/b", "/ab"} {
			all = append(all, authorizer.Attributes{Verb: verb, Path: path})
		}
		for _, group := range []string{"", "apps", "batch"} {
			for _, resource := range []string{"pods", "nodes", "jobs"} {
				for _, subresource := range []string{"", "log", "exec"} {
					for _, name := range []string{"", "x", "y", "z"} {
						all = append(all, authorizer.Attributes{Verb: verb, IsResource: true, APIGroup: group, Resource: resource, Subresource: subresource, Name: name})
					}
				}
			}
		}
	}
	return all
}

// allowed tells what rules allow.
func allowed(t *testing.T, rules []rbacv1.PolicyRule) (decisions []bool) {
	o := newObjects()
	o.clusterRoles["r"] = &rbacv1.ClusterRole{Rules: rules}
	o.clusterRoleBindings = []*rbacv1.ClusterRoleBinding{{Subjects: []rbacv1.Subject{{Kind: "User", Name: "u"}}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"}}}
	roles := rbac.New(o)
	for _, a := range everything() {
		a.User = &user.Info{Name: "u"}
		decision, _, err := roles.Authorize(t.Context(), a)
		require.NoError(t, err)
		decisions = append(decisions, decision == authorizer.Allow)
	}
	return decisions
}

// Whoever gives only what they have gives nobody more than that. The other way round it need
// not be so: "*" is more than all that there is.
func TestRulesThatAreCoveredAllowNoMore(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	covered := 0
	for range 1500 {
		held, wanted := someRules(random), someRules(random)
		if len(rbac.Covers(held, wanted)) > 0 {
			wanted = append(wanted, held...)
			assert.Len(t, rbac.Covers(wanted, held), 0, "%v covers a part of itself: %v", wanted, held)
			continue
		}
		covered++
		have, given := allowed(t, held), allowed(t, wanted)
		for i, a := range everything() {
			if given[i] {
				assert.True(t, have[i], "%+v: %v are said to cover %v", a, held, wanted)
			}
		}
	}
	assert.Greater(t, covered, 50)
}
