package main

import (
	"bytes"
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
)

func TestTheServerHasTheOriginalsLimits(t *testing.T) {
	t.Parallel()
	o := options.New()
	config, err := new(master).buildConfig(o)
	require.NoError(t, err)
	assert.Equal(t, 10*time.Second, config.ReadTimeout)
	assert.Equal(t, 10*time.Second, config.WriteTimeout)
	assert.Equal(t, "127.0.0.1:8080", config.Insecure.Address)
	assert.Nil(t, config.Secure)
	kubelets, err := o.Kubelet.ApplyTo()
	require.NoError(t, err)
	assert.EqualValues(t, 10250, kubelets.Port)
	assert.Nil(t, kubelets.Client.Transport.(*http.Transport).Proxy, "kubelets are asked directly")
}

func endpointsIn(t *testing.T, stores registries) map[string]api.Endpoints {
	list, err := stores.services.(registry.Versioned).Objects().List(storage.Selection{Kind: api.EndpointsKind})
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
		stores := memoryRegistries()
		ctx, stop := context.WithCancel(t.Context())
		require.NoError(t, stores.services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "first"}}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			all := loopsOver(stores)
			all.syncForever(ctx)
		}()
		synctest.Wait()
		assert.Contains(t, endpointsIn(t, stores), "first")

		require.NoError(t, stores.services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "second"}}))
		time.Sleep(syncPeriod - time.Nanosecond) // the bubble's clock: it takes no time
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
		stores := memoryRegistries()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			all := loopsOver(stores)
			all.syncOnChange(ctx)
		}()
		time.Sleep(time.Minute) // the bubble's clock: it takes no time
		synctest.Wait()
		require.NoError(t, stores.services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "first"}}))
		synctest.Wait()
		assert.Contains(t, endpointsIn(t, stores), "first")

		require.NoError(t, stores.services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "second"}}))
		require.NoError(t, stores.services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "third"}}))
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

// It replaces the process's log, so it is not parallel.
func TestTheProgramFollowsOtherProgramsAlsoAfterAPanic(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		calls, done := 0, make(chan struct{})
		go func() {
			defer close(done)
			(&loops{follow: func(ctx context.Context) {
				if calls++; calls == 1 {
					panic("broken")
				}
				<-ctx.Done()
			}}).followForever(ctx)
		}()
		time.Sleep(time.Minute) // the bubble's clock: it takes no time
		synctest.Wait()
		assert.Equal(t, 2, calls)
		assert.Contains(t, logged.String(), "panic: broken\n")
		stop()
		<-done
	})
}

// away is a store that cannot be reached.
type away struct{ storage.Interface }

func (away) List(storage.Selection) (*storage.List, error) {
	return nil, api.NewUnavailable("list services", errors.New("connection refused"))
}

// It replaces the process's log, so it is not parallel.
func TestASyncThatFailsIsLoggedWithItsCause(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	stores := registry.MakeRegistry(away{})
	logError(registry.MakeEndpointController(stores, stores).SyncServiceEndpoints())
	logError(nil)
	assert.Contains(t, logged.String(), "endpoint sync: list services: the store cannot be reached: connection refused\n")
}
