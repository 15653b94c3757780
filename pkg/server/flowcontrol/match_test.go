package flowcontrol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

func TestAPathMatchesWhatIsBelowIt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule, path string
		want       bool
	}{
		{"/healthz", "/healthz", true}, {"/healthz", "/healthz/etcd", true}, {"/healthz", "/healthzx", false}, {"/healthz/", "/healthz", false},
		{"/healthz/*", "/healthz", false}, {"/healthz/*", "/healthz/", true}, {"/healthz*", "/healthz/a", true}, {"/healthz*", "/healthzx", false},
		{"*", "/any", true}, {"/*", "/any", true}, {"/", "/any/thing", true}, {"/", "/", true}, {"/a/*/c", "/a/b/c", false},
	} {
		rules := []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{row.rule}}}
		assert.Equal(t, row.want, matchesPath(rules, &authorizer.Attributes{Verb: "get", Path: row.path}), "%v", row)
		assert.False(t, matchesPath(rules, &authorizer.Attributes{Verb: "put", Path: row.path}))
	}
}

func TestAServiceAccountIsKnownByItsUserName(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		namespace, name, user string
		want                  bool
	}{
		{"a", "b", "system:serviceaccount:a:b", true}, {"a", "*", "system:serviceaccount:a:b", true}, {"a", "*", "system:serviceaccount:ab:b", false},
		{"a", "b", "system:serviceaccount:a:bc", false}, {"a", "*", "system:serviceaccount:a", false}, {"a", "*", "a:b", false}, {"a", "b", "b", false},
	} {
		subject := flowcontrolv1.Subject{Kind: "ServiceAccount", ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: row.namespace, Name: row.name}}
		assert.Equal(t, row.want, isSubject(&subject, &user.Info{Name: row.user}), "%v", row)
	}
	for _, bad := range []flowcontrolv1.Subject{{Kind: "User"}, {Kind: "Group"}, {Kind: "ServiceAccount"}, {Kind: "Other", User: &flowcontrolv1.UserSubject{Name: "*"}}} {
		assert.False(t, isSubject(&bad, &user.Info{Name: "a", Groups: []string{"b"}}), "%v", bad)
	}
}

func TestAResourceMatchesInItsNamespaceOrWithoutAny(t *testing.T) {
	t.Parallel()
	rule := flowcontrolv1.ResourcePolicyRule{Verbs: []string{"get", "*"}, APIGroups: []string{""}, Resources: []string{"pods/status", "nodes"}, Namespaces: []string{"a"}}
	everywhere := rule
	everywhere.ClusterScope = true
	for _, row := range []struct {
		verb, group, resource, subresource, namespace string
		want, wantEverywhere                          bool
	}{
		{"get", "", "pods", "status", "a", true, true},
		{"get", "", "pods", "", "a", false, false},
		{"get", "", "pods", "status", "b", false, false},
		{"get", "", "pods", "status", "", false, true},
		{"get", "", "nodes", "", "", false, true},
		{"get", "apps", "nodes", "", "", false, false},
		{"list", "", "nodes", "", "", false, false}, // a star among others is none
	} {
		a := &authorizer.Attributes{IsResource: true, Verb: row.verb, APIGroup: row.group, Resource: row.resource, Subresource: row.subresource, Namespace: row.namespace}
		assert.Equal(t, row.want, matchesResource([]flowcontrolv1.ResourcePolicyRule{rule}, a), "%v", row)
		assert.Equal(t, row.wantEverywhere, matchesResource([]flowcontrolv1.ResourcePolicyRule{rule, everywhere}, a), "%v", row)
	}
}
