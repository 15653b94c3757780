package core

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// between calls a function before the first commit of a store.
type between struct {
	storage.Interface
	once sync.Once
	do   func()
}

func (b *between) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	b.once.Do(b.do)
	return b.Interface.Commit(changes...)
}

// inDev returns a config map in the namespace dev.
func inDev(id string) api.Object {
	return &api.Any{Kind: "configmaps", ID: id, ObjectMeta: api.ObjectMeta{Namespace: "dev"}}
}

// withDev returns a store with a namespace dev, and the storage of namespaces.
func withDev(t *testing.T) (*memory.Store, namespaces) {
	store := memory.New(1)
	all := namespaceRows(rest.Base{Objects: store, Now: time.Now})[0].Storage.(namespaces)
	_, err := all.Create(t.Context(), rest.Key{}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "dev"}}, rest.WriteOptions{})
	require.NoError(t, err)
	return store, all
}

func rows() rest.Catalogs {
	catalog := &rest.Catalog{}
	catalog.Install(configMaps.Rows(rest.Base{})...)
	return rest.Catalogs{catalog}
}

func TestAnObjectIsCreatedOnlyInANamespaceThatIsThere(t *testing.T) {
	t.Parallel()
	store, _ := withDev(t)
	objects := NewLifecycle(store, rows())
	written, err := objects.Commit(storage.Create(inDev("x")))
	require.NoError(t, err)
	assert.Len(t, written, 1, "the checks are not shown")
	_, err = objects.Commit(storage.Create(inDev("x")))
	assert.Equal(t, api.AlreadyExists, api.KindOf(err))
	_, err = objects.Commit(storage.Create(&api.Any{Kind: "configmaps", ID: "x", ObjectMeta: api.ObjectMeta{Namespace: "nope"}}))
	assert.EqualError(t, err, `namespaces "nope" not found`)
	_, err = objects.Commit(storage.Create(&api.Any{Kind: "configmaps", ID: "x", ObjectMeta: api.ObjectMeta{Namespace: "kube-system"}}))
	assert.NoError(t, err, "it is there, or will be: it cannot be deleted")
	_, err = objects.Commit(storage.Create(&api.Any{Kind: "clusterroles", ID: "x"}))
	assert.NoError(t, err)
}

// The namespace is marked after it was read, and before the object is written.
func TestANamespaceThatBeginsToEndMeanwhileGetsNothing(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		meanwhile func(t *testing.T, all namespaces)
		want      string
	}{
		"it is deleted": {func(t *testing.T, all namespaces) {
			_, err := all.Delete(t.Context(), rest.Key{Name: "dev"}, rest.DeleteOptions{})
			require.NoError(t, err)
		}, `configmaps "x" is forbidden: unable to create new content in namespace dev because it is being terminated`},
		"it is gone": {func(t *testing.T, all namespaces) {
			_, err := all.store.Objects.Commit(storage.Delete(api.Key{Kind: namespacesKind, ID: "dev"}, storage.Present))
			require.NoError(t, err)
		}, `namespaces "dev" not found`},
		"it is labelled": {func(t *testing.T, all namespaces) {
			_, _, err := all.Update(t.Context(), rest.Key{Name: "dev"}, func(current rest.Object) (rest.Object, error) {
				current.SetLabels(map[string]string{"team": "a"})
				return current, nil
			}, rest.WriteOptions{})
			require.NoError(t, err)
		}, ""},
	} {
		store, all := withDev(t)
		_, err := NewLifecycle(&between{Interface: store, do: func() { row.meanwhile(t, all) }}, rows()).Commit(storage.Create(inDev("x")))
		_, missing := store.Get(inDev("x").Key())
		if row.want == "" {
			assert.NoError(t, err, name)
			assert.NoError(t, missing, name)
			continue
		}
		assert.EqualError(t, err, row.want, name)
		assert.Equal(t, api.NotFound, api.KindOf(missing), name)
	}
}

func TestTheErrorOfAnotherChangeIsNotThatOfTheNamespace(t *testing.T) {
	t.Parallel()
	store, _ := withDev(t)
	objects := NewLifecycle(store, rows())
	_, err := objects.Commit(storage.Create(inDev("x")), storage.Require(api.Key{Kind: "configmaps", Namespace: "dev", ID: "y"}))
	assert.Equal(t, api.NotFound, api.KindOf(err))
	assert.ErrorContains(t, err, `"y"`)
}

func TestSomeNamespacesCannotBeDeleted(t *testing.T) {
	t.Parallel()
	store, all := withDev(t)
	require.NoError(t, BootstrapNamespaces(t.Context(), store, time.Now))
	before, err := store.Version()
	require.NoError(t, err)
	require.NoError(t, BootstrapNamespaces(t.Context(), store, time.Now))
	after, err := store.Version()
	require.NoError(t, err)
	assert.Equal(t, before, after, "they are there")
	for _, name := range []string{"default", "kube-system", "kube-public", "none-of-them", "kube-node-lease"} {
		_, err := all.Delete(t.Context(), rest.Key{Name: name}, rest.DeleteOptions{})
		switch name {
		case "kube-node-lease":
			assert.NoError(t, err)
		case "none-of-them":
			assert.True(t, apierrors.IsNotFound(err), err)
		default:
			assert.EqualError(t, err, `namespaces "`+name+`" is forbidden: this namespace may not be deleted`)
		}
	}
}

func TestADeletedNamespaceIsMarkedOnce(t *testing.T) {
	t.Parallel()
	store, all := withDev(t)
	for range 2 {
		answer, err := all.Delete(t.Context(), rest.Key{Name: "dev"}, rest.DeleteOptions{})
		require.NoError(t, err)
		marked, err := genericregistry.ObjectIn[*corev1.Namespace](answer, nil)
		require.NoError(t, err)
		assert.Equal(t, corev1.NamespaceTerminating, marked.Status.Phase)
		assert.NotNil(t, marked.DeletionTimestamp)
		assert.Nil(t, marked.DeletionGracePeriodSeconds)
		assert.Equal(t, "3", marked.ResourceVersion)
	}
	_, err := store.Get(api.Key{Kind: namespacesKind, ID: "dev"})
	assert.NoError(t, err)
}

// lagging has a cache that is behind.
type lagging struct {
	storage.Interface
	cached storage.Reader
}

func (l lagging) Cached() storage.Reader { return l.cached }

func TestACacheThatHasNotSeenANamespaceComeBackRefusesNothing(t *testing.T) {
	t.Parallel()
	store, _ := withDev(t)
	cached, all := withDev(t)
	_, err := all.Delete(t.Context(), rest.Key{Name: "dev"}, rest.DeleteOptions{})
	require.NoError(t, err)
	objects := NewLifecycle(lagging{store, cached}, rows())
	assert.NoError(t, objects.MayCreate("dev", corev1.Resource("configmaps"), "x"))
	_, err = objects.Commit(storage.Create(inDev("x")))
	assert.NoError(t, err)
}
