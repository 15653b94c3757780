package rbac

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

func TestTheDefaultsAreThoseOfTodaysServer(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	require.NoError(t, Bootstrap(t.Context(), store, clock))
	d := open(t, store, nil)
	for _, r := range recordedIn(t, "defaults.json")[2:] {
		status, answer := d.send(r)
		assert.Equal(t, r.Status, status, r.Path)
		assert.Equal(t, constant(t, r.Answer), answer, r.Path)
	}
	for path, count := range map[string]int{
		clusterRolesPath: 69, clusterRoleBindingsPath: 50,
		groupPath + "/namespaces/kube-system/roles": 6, groupPath + "/namespaces/kube-system/rolebindings": 6,
		groupPath + "/namespaces/kube-public/roles": 1, groupPath + "/namespaces/kube-public/rolebindings": 1,
	} {
		assert.Len(t, must[metav1.PartialObjectMetadataList](d, "GET", path, "").Items, count, path)
	}
}

// make decisions compares all of them with today's server.
func TestALineOfTheDefaultsIsReadAsItsFileSays(t *testing.T) {
	t.Parallel()
	byName := map[string][]rest.Object{}
	for _, object := range Defaults() {
		byName[object.GetName()] = append(byName[object.GetName()], object)
	}
	edit := byName["edit"][0].(*rbacv1.ClusterRole)
	assert.Empty(t, edit.Rules)
	assert.Equal(t, map[string]string{aggregateTo + "edit": "true"}, edit.AggregationRule.ClusterRoleSelectors[0].MatchLabels)
	assert.Equal(t, map[string]string{aggregateTo + "admin": "true", "kubernetes.io/bootstrapping": "rbac-defaults"}, edit.Labels)

	signer := byName["system:controller:bootstrap-signer"]
	require.Len(t, signer, 4, "a role and a binding in two namespaces")
	role, binding := signer[0].(*rbacv1.Role), signer[1].(*rbacv1.RoleBinding)
	assert.Equal(t, "kube-public", role.Namespace)
	assert.Equal(t, []rbacv1.PolicyRule{rule("get,list,watch", "", "configmaps"),
		{Verbs: []string{"update"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"cluster-info"}},
		rule("create,patch,update", ",events.k8s.io", "events")}, role.Rules)
	assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "kube-system", Name: "bootstrap-signer"}}, binding.Subjects)
	assert.Equal(t, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, binding.RoleRef)

	assert.Empty(t, byName["system:node"][1].(*rbacv1.ClusterRoleBinding).Subjects)
	assert.Equal(t, everything, byName["cluster-admin"][0].(*rbacv1.ClusterRole).Rules)
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
		assert.Equal(t, len(Defaults()), count)
		for _, server := range servers[1:] {
			other, _ := versions(t, server)
			assert.Equal(t, first, other)
		}
		for name, created := range first {
			assert.Equal(t, created[0], created[1], "%s is as it was created", name)
		}
	})
}

// versions returns those of the creation and of the last change of all roles and bindings.
func versions(t *testing.T, store storage.Interface) (versions map[string][2]uint64, count int) {
	versions = map[string][2]uint64{}
	for _, kind := range policyKinds {
		list, err := store.List(storage.Selection{Kind: kind})
		require.NoError(t, err)
		for _, item := range list.Items {
			versions[fmt.Sprint(kind, " ", keyOf(item))] = [2]uint64{item.Meta().CreationVersion, item.Version()}
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
	const mergePatch, dns, system = "application/merge-patch+json", clusterRolesPath + "/system:kube-dns", groupPath + "/namespaces/kube-system"
	const reader, toReaders = system + "/roles/extension-apiserver-authentication-reader", system + "/rolebindings/system::extension-apiserver-authentication-reader"
	patch := func(path, body string) {
		must[metav1.PartialObjectMetadata](d, "PATCH", path, body, "Content-Type", mergePatch)
	}
	patch(dns, `{"metadata":{"labels":{"own":"x","kubernetes.io/bootstrapping":null}},"aggregationRule":{"clusterRoleSelectors":[{}]},"rules":[{"verbs":["get"],"apiGroups":["x"],"resources":["y"]}]}`)
	patch(clusterRolesPath+"/system:heapster", `{"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}},"rules":null}`)
	patch(clusterRolesPath+"/admin", `{"aggregationRule":null,"rules":[{"verbs":["get"],"apiGroups":["x"],"resources":["y"]}]}`)
	patch(clusterRolesPath+"/edit", `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"own":"x"}}]}}`)
	patch(clusterRoleBindingsPath+"/system:discovery", `{"subjects":[{"kind":"User","name":"own"}]}`)
	patch(toReaders, `{"subjects":null}`)
	must[metav1.Status](d, "DELETE", clusterRolesPath+"/view", "")
	must[metav1.Status](d, "DELETE", reader, "")
	must[metav1.Status](d, "DELETE", clusterRoleBindingsPath+"/cluster-admin", "")
	must[rbacv1.ClusterRoleBinding](d, "POST", clusterRoleBindingsPath, `{"metadata":{"name":"cluster-admin"},"roleRef":{"kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","name":"own"}]}`)
	bootstrap()

	role := must[rbacv1.ClusterRole](d, "GET", dns, "")
	assert.Equal(t, map[string]string{"own": "x", "kubernetes.io/bootstrapping": "rbac-defaults"}, role.Labels)
	assert.Equal(t, []rbacv1.PolicyRule{rule("get", "x", "y"), rule("list,watch", "", "endpoints,services")}, role.Rules)
	assert.Nil(t, role.AggregationRule)
	assert.Empty(t, must[rbacv1.ClusterRole](d, "GET", clusterRolesPath+"/system:heapster", "").Rules, "it is to stay so")
	admin := must[rbacv1.ClusterRole](d, "GET", clusterRolesPath+"/admin", "")
	assert.Equal(t, []rbacv1.PolicyRule{rule("get", "x", "y")}, admin.Rules)
	assert.Equal(t, "true", admin.AggregationRule.ClusterRoleSelectors[0].MatchLabels[aggregateTo+"admin"])
	edit := must[rbacv1.ClusterRole](d, "GET", clusterRolesPath+"/edit", "").AggregationRule.ClusterRoleSelectors
	require.Len(t, edit, 2)
	assert.Equal(t, "true", edit[1].MatchLabels[aggregateTo+"edit"])
	assert.NotNil(t, must[rbacv1.ClusterRole](d, "GET", clusterRolesPath+"/view", "").AggregationRule)
	discovery := must[rbacv1.ClusterRoleBinding](d, "GET", clusterRoleBindingsPath+"/system:discovery", "")
	assert.Equal(t, []string{"own", "system:authenticated"}, []string{discovery.Subjects[0].Name, discovery.Subjects[1].Name})
	assert.NotEmpty(t, must[rbacv1.Role](d, "GET", reader, "").Rules)
	assert.Len(t, must[rbacv1.RoleBinding](d, "GET", toReaders, "").Subjects, 2)
	masters := must[rbacv1.ClusterRoleBinding](d, "GET", clusterRoleBindingsPath+"/cluster-admin", "")
	assert.Equal(t, "cluster-admin", masters.RoleRef.Name, "it is made anew")
	assert.Equal(t, "system:masters", masters.Subjects[0].Name)
}

func TestBootstrapTellsWhatItCannotRepair(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	d := open(t, store, nil)
	must[rbacv1.ClusterRoleBinding](d, "POST", clusterRoleBindingsPath, `{"metadata":{"name":"cluster-admin","finalizers":["a.b/c"]},"roleRef":{"kind":"ClusterRole","name":"view"}}`)
	err := Bootstrap(t.Context(), store, clock)
	assert.EqualError(t, err, "the default cluster role binding cluster-admin: it grants another role, and does not go away")
	_, count := versions(t, store)
	assert.Equal(t, len(Defaults()), count, "all others are there")

	err = Bootstrap(t.Context(), unreachable{store}, clock)
	require.Error(t, err)
	assert.Len(t, strings.Split(err.Error(), "\n"), len(Defaults()))
}

// unreachable is a store that does not answer.
type unreachable struct{ storage.Interface }

func (unreachable) Get(api.Key) (*storage.Object, error) {
	return nil, api.NewUnavailable("get", nil)
}

func (unreachable) List(storage.Selection) (*storage.List, error) {
	return nil, api.NewUnavailable("list", nil)
}
