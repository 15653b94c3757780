package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/quota"
	"kube2014/pkg/storage"
)

func TestWhatAQuotaReservesGoesWithItsLastFinalizer(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"", "/status"} {
		d := Open(t)
		const path = "/api/v1/namespaces/default/resourcequotas"
		d.Must("POST", path, `{"metadata":{"name":"q","finalizers":["a/b"]}}`)
		reserved := quota.Reservations(api.Key{Kind: quota.Kind, Namespace: "default", ID: "q"})
		one := &api.Any{Kind: reserved.Kind, ID: reserved.ID}
		one.Namespace = reserved.Namespace
		_, err := storage.CommitOne(d.Store, storage.Create(one))
		require.NoError(t, err)
		d.Must("DELETE", path+"/q", "")
		require.Equal(t, 200, d.Patch(path+"/q"+part, MergePatch, `{"metadata":{"finalizers":null}}`).Status)
		assert.Equal(t, 404, d.Do("GET", path+"/q", "").Status, part)
		_, err = d.Store.Get(reserved)
		assert.Equal(t, api.NotFound, api.KindOf(err), part)
	}
}
