package controller_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/master/servertest"
)

var settings = metav1.ObjectMeta{Name: "settings", Finalizers: []string{"example.com/wait"}}

// happenings are what may become of an object after it was read, with the error of acting on it.
var happenings = map[string]struct {
	happen             func(t *testing.T, maps clientv1.Resource[*corev1.ConfigMap])
	owners, confirming error // of SetOwners and ConfirmVersion, and of Confirm
}{
	"nothing":         {func(*testing.T, clientv1.Resource[*corev1.ConfigMap]) {}, nil, nil},
	"it is changed":   {change, controller.ErrStale, nil},
	"deletion begins": {remove, controller.ErrStale, controller.ErrStale},
	"it is gone":      {end, controller.ErrStale, controller.ErrStale},
	"it is another's now": {func(t *testing.T, maps clientv1.Resource[*corev1.ConfigMap]) {
		end(t, maps)
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: settings})
		require.NoError(t, err)
	}, controller.ErrStale, controller.ErrStale},
}

func change(t *testing.T, maps clientv1.Resource[*corev1.ConfigMap]) {
	_, err := maps.Change(t.Context(), settings.Name, func(object *corev1.ConfigMap) error {
		object.Data = map[string]string{"key": "value"}
		return nil
	})
	require.NoError(t, err)
}

func remove(t *testing.T, maps clientv1.Resource[*corev1.ConfigMap]) {
	require.NoError(t, maps.Delete(t.Context(), settings.Name, metav1.DeleteOptions{}))
}

func end(t *testing.T, maps clientv1.Resource[*corev1.ConfigMap]) {
	remove(t, maps)
	_, err := maps.Change(t.Context(), settings.Name, func(object *corev1.ConfigMap) error {
		object.Finalizers = nil
		return nil
	})
	require.NoError(t, err)
}

func TestWhatHasChangedSinceItWasReadIsStale(t *testing.T) {
	t.Parallel()
	for name, row := range happenings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := servertest.Start(t).Client(t, "test")
				maps := client.ConfigMaps()
				object, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: settings})
				require.NoError(t, err)
				informer := cache.NewSharedInformer("configmaps", maps, 0)
				synced := informer.AddEventHandler(cache.ResourceEventHandler[*corev1.ConfigMap]{})
				servertest.Run(t, informer.Run)
				require.True(t, cache.WaitForSync(t.Context(), synced))
				row.happen(t, maps)

				_, err = controller.Confirm(t.Context(), maps, object)
				assert.Equal(t, row.confirming, err)
				assert.Equal(t, row.owners, controller.ConfirmVersion(t.Context(), maps, object))
				owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "1"}}
				err = controller.SetOwners(t.Context(), maps, informer, map[*corev1.ConfigMap][]metav1.OwnerReference{object: owners})
				assert.Equal(t, row.owners, err)
				if err == nil {
					cached, _ := informer.Store().Get(cache.Key(object))
					assert.Equal(t, owners, cached.OwnerReferences)
				}
			})
		})
	}
}

func TestOwnersAreRemoved(t *testing.T) {
	t.Parallel()
	owners := []metav1.OwnerReference{{Name: "a", UID: "1"}, {Name: "b", UID: "2"}}
	assert.Equal(t, []metav1.OwnerReference{{Name: "b", UID: "2"}}, controller.WithoutOwner(owners, "1"))
	assert.Len(t, owners, 2, "they are shared")
}
