package rbac

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage/memory"
)

// asked is an authorizer that says what it is to say, and notes what it is asked.
type asked struct {
	decision  authorizer.Decision
	err       error
	questions []authorizer.Attributes
}

// Authorize implements authorizer.Authorizer.
func (a *asked) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	a.questions = append(a.questions, attributes)
	return a.decision, "", a.err
}

// refusing is an escalation check of users who have nothing.
func refusing(a *asked) *Escalation {
	return &Escalation{Authorizer: a, CheckGrant: func(*user.Info, string, []rbacv1.PolicyRule) error { return errors.New("nothing") }}
}

func TestTheAuthorizerIsAskedWhoMayEscalateAndBind(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		method, path, body string
		want               authorizer.Attributes
	}{
		"a role":                          {"POST", rolesPath, kinds[0].object, authorizer.Attributes{Verb: "escalate", Resource: "roles", Namespace: "default"}},
		"a role of a name":                {"PUT", rolesPath + "/x", kinds[0].object, authorizer.Attributes{Verb: "escalate", Resource: "roles", Namespace: "default", Name: "x"}},
		"a cluster role":                  {"POST", clusterRolesPath, kinds[2].object, authorizer.Attributes{Verb: "escalate", Resource: "clusterroles"}},
		"a cluster role of a name":        {"PUT", clusterRolesPath + "/x", kinds[2].object, authorizer.Attributes{Verb: "escalate", Resource: "clusterroles", Name: "x"}},
		"a binding of a role":             {"POST", roleBindingsPath, kinds[1].object, authorizer.Attributes{Verb: "bind", Resource: "roles", Namespace: "default", Name: "x"}},
		"a binding of a cluster role":     {"POST", roleBindingsPath, `{"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"c"}}`, authorizer.Attributes{Verb: "bind", Resource: "clusterroles", Namespace: "default", Name: "c"}},
		"a cluster binding":               {"PUT", clusterRoleBindingsPath + "/x", kinds[3].object, authorizer.Attributes{Verb: "bind", Resource: "clusterroles", Name: "x"}},
		"a cluster binding without group": {"POST", clusterRoleBindingsPath, kinds[3].object, authorizer.Attributes{Verb: "bind", Resource: "clusterroles", Name: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.want.User, row.want.IsResource, row.want.APIGroup, row.want.APIVersion = users["bob"], true, "rbac.authorization.k8s.io", "*"
			for _, decision := range []authorizer.Decision{authorizer.Allow, authorizer.Deny, authorizer.NoOpinion} {
				a := &asked{decision: decision}
				d := open(t, memory.New(1), refusing(a))
				status, _ := d.do("bob", row.method, row.path, row.body)
				assert.Equal(t, []authorizer.Attributes{row.want}, a.questions)
				assert.Equal(t, decision == authorizer.Allow, status == 201, status)
			}
		})
	}
}

func TestAnAuthorizerThatFailsAllowsNothing(t *testing.T) {
	t.Parallel()
	d := open(t, memory.New(1), refusing(&asked{decision: authorizer.Allow, err: errors.New("down")}))
	status, text := d.do("bob", "POST", rolesPath, kinds[0].object)
	assert.Equal(t, 403, status)
	assert.Contains(t, text, `roles.rbac.authorization.k8s.io \"x\" is forbidden: nothing`)
	assert.NotContains(t, text, "down")
}

func TestAMasterIsNotAsked(t *testing.T) {
	t.Parallel()
	a := &asked{}
	d := open(t, memory.New(1), refusing(a))
	for _, kind := range kinds {
		must[rbacv1.Role](d, "POST", kind.path, kind.object)
	}
	assert.Empty(t, a.questions)
}

func TestOnlyWhoMayDoEverythingChangesAnAggregatedRole(t *testing.T) {
	t.Parallel()
	d := open(t, memory.New(1), &Escalation{Authorizer: &asked{}, CheckGrant: func(_ *user.Info, _ string, wanted []rbacv1.PolicyRule) error {
		if slices.ContainsFunc(wanted, func(rule rbacv1.PolicyRule) bool { return rule.Verbs[0] == "*" }) {
			return errors.New("not everything")
		}
		return nil
	}})
	must[rbacv1.ClusterRole](d, "POST", clusterRolesPath, `{"metadata":{"name":"x"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}`)
	for body, want := range map[string]int{`{"aggregationRule":null}`: 403, `{"metadata":{"labels":{"a":"b"}}}`: 403, `{"metadata":{"finalizers":["a.b/c"]}}`: 200} {
		status, text := d.do("bob", "PATCH", clusterRolesPath+"/x", body, "Content-Type", "application/merge-patch+json")
		assert.Equal(t, want, status, body)
		assert.Equal(t, want == 403, strings.Contains(text, "must have cluster-admin privileges to use the aggregationRule"), text)
	}
	status, text := d.do("bob", "POST", clusterRolesPath, `{"metadata":{"name":"y"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}`)
	assert.Equal(t, 403, status, text)
}

// What is wrong anyway is told as it is to everybody: it grants nothing.
func TestK41WhatIsRefusedAnywayIsToldAsToEverybody(t *testing.T) {
	t.Parallel()
	d := open(t, memory.New(1), refusing(&asked{}))
	for name, row := range map[string]struct {
		path, body string
		status     int
	}{
		"a role of no kind":        {roleBindingsPath, `{"metadata":{"name":"b"},"roleRef":{"name":"x"}}`, 422},
		"a role of another group":  {roleBindingsPath, `{"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"x","apiGroup":"y"}}`, 422},
		"a role that is not there": {roleBindingsPath, kinds[1].object, 404},
	} {
		status, text := d.do("bob", "POST", row.path, row.body)
		assert.Equal(t, row.status, status, "%s: %s", name, text)
		_, same := d.do("admin", "POST", row.path, row.body)
		if row.body != kinds[1].object {
			assert.Equal(t, same, text, name)
		}
	}
}

func TestARoleThatCannotBeReadIsNotBound(t *testing.T) {
	t.Parallel()
	s := newStores(unreachable{memory.New(1)}, clock)
	for _, kind := range []string{"Role", "ClusterRole"} {
		_, err := s.rulesOf(t.Context(), kind, rest.Key{Namespace: "default", Name: "x"})
		assert.Error(t, err)
	}
	d := open(t, unreachable{memory.New(1)}, refusing(&asked{}))
	status, _ := d.do("bob", "POST", roleBindingsPath, kinds[1].object)
	assert.Equal(t, 503, status)
}
