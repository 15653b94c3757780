package authorizer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// says is an authorizer that says always the same. It lists rules if it is asked as resolver.
type says struct {
	decision authorizer.Decision
	reason   string
	err      error
}

func (s says) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return s.decision, s.reason, s.err
}

type lists struct {
	says
	rules      []authorizer.Rule
	incomplete bool
	why        error
}

func (l lists) RulesFor(context.Context, *user.Info, string) ([]authorizer.Rule, bool, error) {
	return l.rules, l.incomplete, l.why
}

func TestTheFirstWithAnOpinionDecides(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	silent := says{decision: authorizer.NoOpinion}
	unsure := says{authorizer.NoOpinion, "unsure", broken}
	allows := says{decision: authorizer.Allow, reason: "allowed"}
	denies := says{authorizer.Deny, "denied", broken}
	for name, test := range map[string]struct {
		union  authorizer.UnionAuthorizer
		want   authorizer.Decision
		reason string
		err    string
	}{
		"nobody":                 {nil, authorizer.NoOpinion, "", ""},
		"allow before deny":      {authorizer.Union(silent, allows, denies), authorizer.Allow, "allowed", ""},
		"deny before allow":      {authorizer.Union(silent, denies, allows), authorizer.Deny, "denied", "broken"},
		"allow after an error":   {authorizer.Union(unsure, allows), authorizer.Allow, "allowed", ""},
		"no opinion at all":      {authorizer.Union(unsure, silent, unsure), authorizer.NoOpinion, "unsure\nunsure", "broken\nbroken"},
		"always deny lets go on": {authorizer.Union(authorizer.AlwaysDeny{}, authorizer.AlwaysAllow{}), authorizer.Allow, "", ""},
		"always deny":            {authorizer.Union(silent, authorizer.AlwaysDeny{}), authorizer.NoOpinion, "Everything is forbidden.", ""},
		"a union in a union":     {authorizer.Union(authorizer.Union(unsure), denies), authorizer.Deny, "denied", "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decision, reason, err := test.union.Authorize(t.Context(), authorizer.Attributes{User: &user.Info{}})
			assert.Equal(t, test.want, decision)
			assert.Equal(t, test.reason, reason)
			if test.err == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, test.err)
			}
		})
	}
}

func TestTheRulesAreThoseOfAllWhoListRules(t *testing.T) {
	t.Parallel()
	read, write := authorizer.Rule{Verbs: []string{"get"}}, authorizer.Rule{Verbs: []string{"create"}}
	union := authorizer.Union(
		says{decision: authorizer.Allow},
		authorizer.PrivilegedGroups{user.Masters},
		authorizer.AlwaysDeny{},
		lists{rules: []authorizer.Rule{read}, incomplete: true, why: errors.New("half of it")},
		lists{rules: []authorizer.Rule{write}},
	)
	rules, incomplete, why := union.RulesFor(t.Context(), &user.Info{}, "a")
	assert.Equal(t, []authorizer.Rule{read, write}, rules)
	assert.True(t, incomplete)
	assert.EqualError(t, why, "half of it")

	rules, incomplete, why = authorizer.Union(authorizer.AlwaysAllow{}).RulesFor(t.Context(), &user.Info{}, "a")
	all := []string{"*"}
	assert.Equal(t, []authorizer.Rule{{Verbs: all, APIGroups: all, Resources: all}, {Verbs: all, NonResourceURLs: all}}, rules)
	assert.False(t, incomplete)
	assert.NoError(t, why)
}

func TestMembersOfPrivilegedGroupsMayDoEverything(t *testing.T) {
	t.Parallel()
	privileged := authorizer.PrivilegedGroups{user.Masters, "owners"}
	for group, want := range map[string]authorizer.Decision{user.Masters: authorizer.Allow, "owners": authorizer.Allow, "guests": authorizer.NoOpinion, "": authorizer.NoOpinion} {
		decision, reason, err := privileged.Authorize(t.Context(), authorizer.Attributes{User: &user.Info{Name: user.Masters, Groups: []string{"first", group}}})
		assert.Equal(t, want, decision, group)
		assert.Empty(t, reason)
		assert.NoError(t, err)
	}
}

func TestWhoForgetsToDecideDenies(t *testing.T) {
	t.Parallel()
	var decision authorizer.Decision
	assert.Equal(t, authorizer.Deny, decision)
}

func TestADeniedRequestIsToldInTodaysWords(t *testing.T) {
	t.Parallel()
	bob := &user.Info{Name: "bob"}
	for want, denied := range map[string]authorizer.Denied{
		`User "bob" cannot create resource "pods" in API group "" in the namespace "default"`: {Attributes: authorizer.Attributes{
			User: bob, Verb: "create", IsResource: true, Resource: "pods", Namespace: "default", Path: "/api/v1/namespaces/default/pods"}},
		`User "bob" cannot get resource "deployments/scale" in API group "apps" in the namespace "a"`: {Attributes: authorizer.Attributes{
			User: bob, Verb: "get", IsResource: true, APIGroup: "apps", Resource: "deployments", Subresource: "scale", Namespace: "a", Name: "x"}},
		`User "bob" cannot list resource "nodes" in API group "" at the cluster scope: No policy matched.`: {Attributes: authorizer.Attributes{
			User: bob, Verb: "list", IsResource: true, Resource: "nodes"}, Reason: "No policy matched."},
		`User "bob" cannot get path "/metrics"`: {Attributes: authorizer.Attributes{User: bob, Verb: "get", Path: "/metrics"}},
		"User \"\" cannot post path \"/a&lt;b&gt;&amp;\\n\": <why>\n": {Attributes: authorizer.Attributes{
			User: &user.Info{}, Verb: "post", Path: "/a<b>&\n"}, Reason: "<why>\n"},
	} {
		assert.EqualError(t, &denied, want)
	}
}
