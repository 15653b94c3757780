package main

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/master"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
)

func TestTheServerHasTheOriginalsLimits(t *testing.T) {
	t.Parallel()
	o := options.New()
	generic, err := master.New(config, o, nil).BuildGenericConfig()
	require.NoError(t, err)
	assert.Equal(t, 10*time.Second, generic.ReadTimeout)
	assert.Equal(t, 10*time.Second, generic.WriteTimeout)
	assert.Equal(t, "127.0.0.1:8080", generic.Insecure.Address)
	assert.Nil(t, generic.Secure)
	kubelets, err := o.Kubelet.ApplyTo()
	require.NoError(t, err)
	assert.EqualValues(t, 10250, kubelets.Port)
	assert.Nil(t, kubelets.Client.Transport.(*http.Transport).Proxy, "kubelets are asked directly")
}

func endpointsIn(t *testing.T, stores registries) map[string]api.Endpoints {
	list, err := stores.Services.(registry.Versioned).Objects().List(storage.Selection{Kind: api.EndpointsKind, Namespace: "default"})
	require.NoError(t, err)
	endpoints := map[string]api.Endpoints{}
	for _, object := range list.Items {
		endpoints[object.Key().ID] = api.Endpoints{Name: object.Key().ID, Endpoints: object.Object.(*api.Endpoints).Endpoints}
	}
	return endpoints
}

func TestTheProgramSyncsEndpointsAtStartAndEveryTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t)
		stores := d.Stores
		ctx, stop := context.WithCancel(t.Context())
		require.NoError(t, stores.Services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "first"}}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.Loops.SyncForever(ctx)
		}()
		synctest.Wait()
		assert.Contains(t, endpointsIn(t, stores), "first")

		require.NoError(t, stores.Services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "second"}}))
		time.Sleep(master.SyncPeriod - time.Nanosecond) // the bubble's clock: it takes no time
		synctest.Wait()
		assert.NotContains(t, endpointsIn(t, stores), "second")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Contains(t, endpointsIn(t, stores), "second")

		stop()
		<-done
	})
}

func TestTheProgramSyncsEndpointsOnChangeAtMostOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t)
		stores := d.Stores
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.Loops.SyncOnChange(ctx)
		}()
		time.Sleep(time.Minute) // the bubble's clock: it takes no time
		synctest.Wait()
		require.NoError(t, stores.Services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "first"}}))
		synctest.Wait()
		assert.Contains(t, endpointsIn(t, stores), "first")

		require.NoError(t, stores.Services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "second"}}))
		require.NoError(t, stores.Services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "third"}}))
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		assert.Len(t, endpointsIn(t, stores), 1)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Len(t, endpointsIn(t, stores), 3)

		stop()
		<-done
	})
}
