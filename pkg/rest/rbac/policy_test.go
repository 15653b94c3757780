package rbac

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

func TestAPolicyHasWhatTheStoreHas(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		store := connect()
		policy, d := NewPolicy(store), open(t, store, nil)
		require.NoError(t, policy.Load())
		assert.Nil(t, policy.Role("default", "x"))
		for _, kind := range kinds {
			must[metav1.PartialObjectMetadata](d, "POST", kind.path, kind.object)
		}
		assert.Equal(t, []rbacv1.PolicyRule{rule("get", "", "pods")}, policy.Role("default", "x").Rules, "own changes are there at once")
		assert.Equal(t, []string{"/x"}, policy.ClusterRole("x").Rules[0].NonResourceURLs)
		require.Len(t, policy.RoleBindings("default"), 1)
		assert.Equal(t, "u", policy.RoleBindings("default")[0].Subjects[0].Name)
		require.Len(t, policy.ClusterRoleBindings(), 1)
		assert.Equal(t, "x", policy.ClusterRoleBindings()[0].RoleRef.Name)
		assert.Nil(t, policy.Role("other", "x"))
		assert.Empty(t, policy.RoleBindings("other"))

		must[metav1.Status](d, "DELETE", roleBindingsPath+"/x", "")
		assert.Empty(t, policy.RoleBindings("default"))
	})
}

func TestAPolicyHasWhatWasThereBefore(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		must[rbacv1.Role](open(t, connect(), nil), "POST", rolesPath, kinds[0].object)
		policy := NewPolicy(connect())
		require.NoError(t, policy.Load())
		assert.NotNil(t, policy.Role("default", "x"))
	})
}

func TestAPolicyFollowsWhatOthersChange(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		store, beside := connect(), open(t, connect(), nil)
		policy := NewPolicy(store)
		require.NoError(t, policy.Load())
		version, err := store.Version()
		require.NoError(t, err)
		changes, err := store.Watch(storage.Selection{Kind: "roles"}, version)
		require.NoError(t, err)
		inTime, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		must[rbacv1.Role](beside, "POST", rolesPath, kinds[0].object)
		_, err = changes.Next(inTime)
		require.NoError(t, err)
		assert.NotNil(t, policy.Role("default", "x"))
		must[metav1.Status](beside, "DELETE", rolesPath+"/x", "")
		_, err = changes.Next(inTime)
		require.NoError(t, err)
		assert.Nil(t, policy.Role("default", "x"))
	})
}

// silent is a store that is only asked for what it has cached.
type silent struct {
	storage.Interface
	cached storage.Reader
}

func (s silent) Cached() storage.Reader { return s.cached }

func TestAPolicyConvertsEachObjectOnceAndAsksNobody(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	require.NoError(t, Bootstrap(t.Context(), store, clock))
	policy := NewPolicy(silent{cached: store})
	known := func() (all []any) {
		for _, object := range Defaults() {
			if role, ok := object.(*rbacv1.ClusterRole); ok {
				all = append(all, policy.ClusterRole(role.Name))
			}
		}
		for _, binding := range policy.ClusterRoleBindings() {
			all = append(all, binding)
		}
		return all
	}
	same := func(before, now []any) (count int) {
		for i, object := range before {
			if object == now[i] {
				count++
			}
		}
		return count
	}
	before := known()
	require.Len(t, before, 69+50)
	_, err := store.Commit(storage.Create(&api.Service{JSONBase: api.JSONBase{ID: "other"}}))
	require.NoError(t, err)
	assert.Equal(t, len(before), same(before, known()))

	must[rbacv1.ClusterRole](open(t, store, nil), "PATCH", clusterRolesPath+"/system:kube-dns", `{"rules":null}`, "Content-Type", "application/merge-patch+json")
	assert.Empty(t, policy.ClusterRole("system:kube-dns").Rules)
	assert.Equal(t, len(before)-1, same(before, known()))
}

func TestWhatCannotBeReadGivesNobodyAnyRight(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	_, err := store.Commit(storage.Create(&api.Any{Kind: "clusterroles", ID: "bad", ObjectMeta: api.ObjectMeta{Remainder: "no JSON"}}))
	require.NoError(t, err)
	policy := NewPolicy(store)
	assert.Nil(t, policy.ClusterRole("bad"))
	must[rbacv1.ClusterRole](open(t, store, nil), "POST", clusterRolesPath, kinds[2].object)
	assert.NotNil(t, policy.ClusterRole("x"))
	assert.Nil(t, policy.ClusterRole("bad"))
}

func TestAStoreThatDoesNotAnswerLeavesThePolicyAsItWas(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	must[rbacv1.Role](open(t, store, nil), "POST", rolesPath, kinds[0].object)
	var broken atomic.Bool
	policy := NewPolicy(silent{cached: storage.ReaderFunc(func(string) (storage.Reader, error) {
		if broken.Load() {
			return nil, errors.New("down")
		}
		return store, nil
	})})
	assert.NotNil(t, policy.Role("default", "x"))
	broken.Store(true)
	assert.NotNil(t, policy.Role("default", "x"))
	assert.Error(t, NewPolicy(unreachable{store}).Load())
}

func TestAPolicyIsReadWhileItChanges(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	policy, d := NewPolicy(store), open(t, store, nil)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				if policy.RoleBindings("default") != nil {
					assert.NotNil(t, policy.RoleBindings("default")[0])
				}
			}
		})
	}
	must[rbacv1.RoleBinding](d, "POST", roleBindingsPath, kinds[1].object)
	for i := range 50 {
		must[rbacv1.Role](d, "POST", rolesPath, `{"metadata":{"generateName":"r"}}`)
		assert.Len(t, policy.Get().roles.of("default"), i+1)
	}
	group.Wait()
}
