package rbac

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

func TestK40TheDefaultsAreThoseOfTodaysServer(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	require.NoError(t, Bootstrap(t.Context(), store, clock))
	d := open(t, store, nil)
	for _, r := range recordedIn(t, "defaults.json")[2:] {
		status, answer := d.send(r)
		assert.Equal(t, r.Status, status, r.Path)
		assert.Equal(t, constant(t, r.Answer), answer, r.Path)
	}
	assert.Len(t, must[rbacv1.ClusterRoleList](d, "GET", clusterRolesPath, "").Items, 8)
	for _, name := range []string{"admin", "edit", "view"} {
		role := must[rbacv1.ClusterRole](d, "GET", clusterRolesPath+"/"+name, "")
		assert.Equal(t, "rbac-defaults", role.Labels["kubernetes.io/bootstrapping"])
		assert.Nil(t, role.AggregationRule)
		assert.NotEmpty(t, role.Rules)
		assert.Empty(t, missing(role.Rules, viewRules), "%s may do what view may", name)
	}
}

// missing returns those of the rules that a list does not have.
func missing(list, rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return with(slices.Clip(list), rules)[len(list):]
}

func TestBootstrapWritesNothingTwice(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		store := connect()
		require.NoError(t, Bootstrap(t.Context(), store, clock))
		before, _ := versions(t, store)
		require.NoError(t, Bootstrap(t.Context(), store, clock))
		require.NoError(t, Bootstrap(t.Context(), connect(), clock))
		after, _ := versions(t, store)
		assert.Equal(t, before, after)
	})
}

func TestServersThatStartTogetherMakeTheDefaultsOnce(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		servers := []storage.Interface{connect(), connect(), connect()}
		errs := make([]error, len(servers))
		var group sync.WaitGroup
		for i, server := range servers {
			group.Go(func() { errs[i] = Bootstrap(context.Background(), server, clock) })
		}
		group.Wait()
		require.NoError(t, errors.Join(errs...))
		first, count := versions(t, servers[0])
		assert.Equal(t, len(defaultRoles())+len(defaultBindings()), count)
		for _, server := range servers[1:] {
			other, _ := versions(t, server)
			assert.Equal(t, first, other)
		}
		for name, created := range first {
			assert.Equal(t, created[0], created[1], "%s is as it was created", name)
		}
	})
}

// versions returns those of the creation and of the last change of all cluster roles and their bindings.
func versions(t *testing.T, store storage.Interface) (versions map[string][2]uint64, count int) {
	versions = map[string][2]uint64{}
	for _, kind := range []api.Kind{"clusterroles", "clusterrolebindings"} {
		list, err := store.List(storage.Selection{Kind: kind})
		require.NoError(t, err)
		for _, item := range list.Items {
			versions[string(kind)+" "+item.Key().ID] = [2]uint64{item.Meta().CreationVersion, item.Version()}
			count++
		}
	}
	return versions, count
}

func TestBootstrapPutsBackWhatIsMissingAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	bootstrap := func() { require.NoError(t, Bootstrap(t.Context(), store, clock)) }
	bootstrap()
	d := open(t, store, nil)
	const mergePatch = "application/merge-patch+json"
	must[rbacv1.ClusterRole](d, "PATCH", clusterRolesPath+"/view", `{"metadata":{"labels":{"own":"x","kubernetes.io/bootstrapping":null}},"rules":[{"verbs":["get"],"apiGroups":["x"],"resources":["y"]}]}`, "Content-Type", mergePatch)
	must[rbacv1.ClusterRole](d, "PATCH", clusterRolesPath+"/edit", `{"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}},"rules":null}`, "Content-Type", mergePatch)
	must[rbacv1.ClusterRoleBinding](d, "PATCH", clusterRoleBindingsPath+"/system:discovery", `{"subjects":[{"kind":"User","name":"own"}]}`, "Content-Type", mergePatch)
	must[metav1.Status](d, "DELETE", clusterRolesPath+"/admin", "")
	must[metav1.Status](d, "DELETE", clusterRoleBindingsPath+"/cluster-admin", "")
	must[rbacv1.ClusterRoleBinding](d, "POST", clusterRoleBindingsPath, `{"metadata":{"name":"cluster-admin"},"roleRef":{"kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","name":"own"}]}`)
	bootstrap()

	view := must[rbacv1.ClusterRole](d, "GET", clusterRolesPath+"/view", "")
	assert.Equal(t, map[string]string{"own": "x", "kubernetes.io/bootstrapping": "rbac-defaults"}, view.Labels)
	assert.Equal(t, append([]rbacv1.PolicyRule{rule("get", "x", "y")}, viewRules...), view.Rules)
	assert.Empty(t, must[rbacv1.ClusterRole](d, "GET", clusterRolesPath+"/edit", "").Rules, "it is to stay so")
	assert.Equal(t, adminRules, must[rbacv1.ClusterRole](d, "GET", clusterRolesPath+"/admin", "").Rules)
	discovery := must[rbacv1.ClusterRoleBinding](d, "GET", clusterRoleBindingsPath+"/system:discovery", "")
	assert.Equal(t, []string{"own", "system:authenticated"}, []string{discovery.Subjects[0].Name, discovery.Subjects[1].Name})
	admin := must[rbacv1.ClusterRoleBinding](d, "GET", clusterRoleBindingsPath+"/cluster-admin", "")
	assert.Equal(t, "cluster-admin", admin.RoleRef.Name, "it is made anew")
	assert.Equal(t, "system:masters", admin.Subjects[0].Name)
}

func TestBootstrapTellsWhatItCannotRepair(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	d := open(t, store, nil)
	must[rbacv1.ClusterRoleBinding](d, "POST", clusterRoleBindingsPath, `{"metadata":{"name":"cluster-admin","finalizers":["a.b/c"]},"roleRef":{"kind":"ClusterRole","name":"view"}}`)
	err := Bootstrap(t.Context(), store, clock)
	assert.EqualError(t, err, "the default cluster role binding cluster-admin: it grants another role, and does not go away")
	_, count := versions(t, store)
	assert.Equal(t, len(defaultRoles())+len(defaultBindings()), count, "all others are there")

	err = Bootstrap(t.Context(), unreachable{store}, clock)
	require.Error(t, err)
	assert.Len(t, strings.Split(err.Error(), "\n"), len(defaultRoles())+len(defaultBindings()))
}

// unreachable is a store that does not answer.
type unreachable struct{ storage.Interface }

func (unreachable) Get(api.Key) (*storage.Object, error) {
	return nil, api.NewUnavailable("get", nil)
}

func (unreachable) List(storage.Selection) (*storage.List, error) {
	return nil, api.NewUnavailable("list", nil)
}
