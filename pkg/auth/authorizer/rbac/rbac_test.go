package rbac_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/authorizertest"
	"kube2014/pkg/auth/authorizer/rbac"
	"kube2014/pkg/auth/user"
)

// objects is a Source.
type objects struct {
	clusterRoles        map[string]*rbacv1.ClusterRole
	roles               map[[2]string]*rbacv1.Role // by namespace and name
	clusterRoleBindings []*rbacv1.ClusterRoleBinding
	roleBindings        map[string][]*rbacv1.RoleBinding
}

func (o *objects) ClusterRole(name string) *rbacv1.ClusterRole { return o.clusterRoles[name] }
func (o *objects) Role(namespace, name string) *rbacv1.Role {
	return o.roles[[2]string{namespace, name}]
}
func (o *objects) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding { return o.clusterRoleBindings }
func (o *objects) RoleBindings(namespace string) []*rbacv1.RoleBinding {
	return o.roleBindings[namespace]
}

func newObjects() *objects {
	return &objects{map[string]*rbacv1.ClusterRole{}, map[[2]string]*rbacv1.Role{}, nil, map[string][]*rbacv1.RoleBinding{}}
}

// read reads an object as T.
func read[T any](t testing.TB, text json.RawMessage) *T {
	t.Helper()
	object := new(T)
	require.NoError(t, json.Unmarshal(text, object))
	return object
}

func kindOf(t testing.TB, text json.RawMessage) string {
	t.Helper()
	return read[metav1.TypeMeta](t, text).Kind
}

func (o *objects) add(t testing.TB, text json.RawMessage) {
	t.Helper()
	switch kindOf(t, text) {
	case "ClusterRole":
		role := read[rbacv1.ClusterRole](t, text)
		o.clusterRoles[role.Name] = role
	case "Role":
		role := read[rbacv1.Role](t, text)
		o.roles[[2]string{role.Namespace, role.Name}] = role
	case "ClusterRoleBinding":
		o.clusterRoleBindings = append(o.clusterRoleBindings, read[rbacv1.ClusterRoleBinding](t, text))
	case "RoleBinding":
		binding := read[rbacv1.RoleBinding](t, text)
		o.roleBindings[binding.Namespace] = append(o.roleBindings[binding.Namespace], binding)
	default:
		t.Fatalf("an object of an unknown kind: %s", text)
	}
}

func recorded(t testing.TB) (*authorizertest.Recording, *rbac.Authorizer) {
	t.Helper()
	recording, o := authorizertest.Load(t, "testdata/decisions.json"), newObjects()
	for _, text := range recording.Objects {
		o.add(t, text)
	}
	return recording, rbac.New(o)
}

func TestRolesDecideAsInTodaysServer(t *testing.T) {
	t.Parallel()
	recording, roles := recorded(t)
	authorizertest.Replay(t, recording, roles)
}

func TestRightsAreGrantedAsInTodaysServer(t *testing.T) {
	t.Parallel()
	recording, roles := recorded(t)
	for i, grant := range recording.Grants {
		t.Run(fmt.Sprint(i, " ", grant.User), func(t *testing.T) {
			t.Parallel()
			code, message := makeObject(t, roles, grant)
			assert.Equal(t, grant.Code, code)
			// That server takes the kind of a missing role for that of the object which is made.
			want := strings.Replace(grant.Message, "errors: [clusterroles.", "errors: [clusterrole.", 1)
			assert.Equal(t, want, message)
		})
	}
}

// makeObject answers like a server to which somebody posts an object of RBAC: may they do that
// at all, may they escalate or bind, do they have themselves what they give?
func makeObject(t *testing.T, roles *rbac.Authorizer, grant authorizertest.Grant) (code int, message string) {
	kind := kindOf(t, grant.Object)
	meta := read[struct{ Metadata metav1.ObjectMeta }](t, grant.Object).Metadata
	a := authorizer.Attributes{User: grant.Info(), Verb: "create", IsResource: true, APIGroup: rbacv1.GroupName, Resource: strings.ToLower(kind) + "s", Namespace: meta.Namespace}
	all := authorizer.Union(authorizer.PrivilegedGroups{user.Masters}, roles)
	may := func(a authorizer.Attributes) bool {
		decision, _, err := all.Authorize(t.Context(), a)
		require.NoError(t, err)
		return decision == authorizer.Allow
	}
	resource := a.Resource + "." + rbacv1.GroupName
	if !may(a) {
		return http.StatusForbidden, resource + " is forbidden: " + (&authorizer.Denied{Attributes: a}).Error()
	}
	wanted, trusted := []rbacv1.PolicyRule(nil), a
	trusted.Verb = "escalate"
	if strings.HasSuffix(kind, "Binding") {
		role := read[rbacv1.RoleBinding](t, grant.Object).RoleRef
		trusted.Verb, trusted.Resource, trusted.Name = "bind", strings.ToLower(role.Kind)+"s", role.Name
		rules, err := roles.RulesOf(role, meta.Namespace)
		if err != nil {
			require.ErrorContains(t, err, " not found")
			return http.StatusNotFound, fmt.Sprintf("%s %q not found", resource, role.Name)
		}
		wanted = rules
	} else {
		wanted = read[rbacv1.Role](t, grant.Object).Rules
	}
	if may(trusted) {
		return http.StatusCreated, ""
	}
	if err := roles.CheckGrant(grant.Info(), meta.Namespace, wanted); err != nil {
		require.ErrorAs(t, err, new(*rbac.EscalationError))
		return http.StatusForbidden, fmt.Sprintf("%s %q is forbidden: %v", resource, meta.Name, err)
	}
	return http.StatusCreated, ""
}

func TestTheFirstBindingThatAllowsIsTheReason(t *testing.T) {
	t.Parallel()
	o := newObjects()
	o.clusterRoles["r"] = &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"*"}}}}
	for _, name := range []string{"b", "a"} {
		binding := &rbacv1.ClusterRoleBinding{Subjects: []rbacv1.Subject{{Kind: "User", Name: "u"}}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"}}
		binding.Name = name
		o.clusterRoleBindings = append(o.clusterRoleBindings, binding)
	}
	_, reason, err := rbac.New(o).Authorize(t.Context(), authorizer.Attributes{User: &user.Info{Name: "u"}, Verb: "get", Path: "/"})
	require.NoError(t, err)
	assert.Equal(t, `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "u"`, reason)
}

func TestABindingToNoKindOfRoleGivesNothing(t *testing.T) {
	t.Parallel()
	o := newObjects()
	o.roleBindings["a"] = []*rbacv1.RoleBinding{{
		Subjects: []rbacv1.Subject{{Kind: "Robot", Name: "u"}, {Kind: "User", Name: "u"}}, RoleRef: rbacv1.RoleRef{Kind: "Pod", Name: "r"}}}
	decision, reason, err := rbac.New(o).Authorize(t.Context(), authorizer.Attributes{User: &user.Info{Name: "u"}, Verb: "get", IsResource: true, Namespace: "a"})
	require.NoError(t, err)
	assert.Equal(t, authorizer.NoOpinion, decision)
	assert.Equal(t, `RBAC: unsupported role reference kind: "Pod"`, reason)
}

func TestWhatIsMissingIsListedInItsParts(t *testing.T) {
	t.Parallel()
	held := []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
	assert.Empty(t, rbac.Covers(held, held))
	assert.Empty(t, rbac.Covers(nil, nil))
	assert.Empty(t, rbac.Covers(nil, []rbacv1.PolicyRule{{Verbs: []string{"get"}}}), "it is about nothing")
	wanted := []rbacv1.PolicyRule{
		{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"x", ""}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/"}},
	}
	assert.Equal(t, []rbacv1.PolicyRule{
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"x"}},
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{""}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/"}},
	}, rbac.Covers(held, wanted))
}

func TestRulesWithTooManyPartsAreMissingAsTheyAre(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint(i))
	}
	pods := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	held := []rbacv1.PolicyRule{pods}
	for _, huge := range []rbacv1.PolicyRule{
		{Verbs: many, APIGroups: many, Resources: many, ResourceNames: many},
		{Verbs: many, NonResourceURLs: many},
	} {
		wanted := []rbacv1.PolicyRule{pods, huge, pods}
		assert.Equal(t, wanted[1:], rbac.Covers(held, wanted))
	}
	assert.Empty(t, rbac.Covers(held, slices.Repeat(held, 20_000)))
	assert.Len(t, rbac.Covers(held, slices.Repeat(held, 20_003)), 3)
}

// ofManyRoles is an authorizer with n bindings of n roles, for everybody and in a namespace.
func ofManyRoles(n int) *rbac.Authorizer {
	o := newObjects()
	for i := range n {
		name := fmt.Sprint("u", i)
		rules := []rbacv1.PolicyRule{
			{Verbs: []string{"list", "watch"}, APIGroups: []string{"", "apps"}, Resources: []string{"services", "deployments", "pods"}},
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}},
		}
		o.clusterRoles[name] = &rbacv1.ClusterRole{Rules: rules}
		role := rbacv1.RoleRef{Kind: "ClusterRole", Name: name}
		meta := metav1.ObjectMeta{Name: name}
		subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "a", Name: name}, {Kind: "Group", Name: name}, {Kind: "User", Name: name}}
		o.clusterRoleBindings = append(o.clusterRoleBindings, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: role})
		o.roleBindings["a"] = append(o.roleBindings["a"], &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: role})
	}
	return rbac.New(o)
}

func BenchmarkAuthorize(b *testing.B) {
	roles := ofManyRoles(50)
	for name, a := range map[string]authorizer.Attributes{
		"allowed by the first": {User: &user.Info{Name: "u0"}, Verb: "get", IsResource: true, Resource: "pods", Namespace: "a", Name: "x"},
		"allowed by the 50th":  {User: &user.Info{Name: "u49"}, Verb: "get", IsResource: true, Resource: "pods", Subresource: "log", Namespace: "a", Name: "x"},
		"denied":               {User: &user.Info{Name: "u49"}, Verb: "delete", IsResource: true, Resource: "pods", Namespace: "a", Name: "x"},
	} {
		a.User.Groups = []string{"one", "two", user.AllAuthenticated}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := roles.Authorize(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// It is not parallel to others, for it counts what the whole program allocates.
func TestADecisionAllocatesAlmostNothing(t *testing.T) {
	roles := ofManyRoles(10)
	a := authorizer.Attributes{User: &user.Info{Name: "u9", Groups: []string{user.AllAuthenticated}}, Verb: "delete", IsResource: true, Resource: "pods", Subresource: "log", Namespace: "a"}
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _, _ = roles.Authorize(t.Context(), a) }), 5.0)
}
