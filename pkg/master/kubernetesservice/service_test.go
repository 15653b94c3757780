package kubernetesservice

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/discovery"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// syncPeriod is that of a server.
const syncPeriod = 10 * time.Second

// serverAt returns what keeps the service of a server.
func serverAt(store storage.Interface, at string) *Keeper {
	k := &Keeper{objects: store, at: netip.MustParseAddrPort(at)}
	for _, row := range core.Resources(core.Config{Objects: store, Placer: registry.MakePodPlacer(store, nil), Now: time.Now}) {
		switch row.Name {
		case "services":
			k.services = row
		case "endpoints":
			k.endpoints = row
		}
	}
	k.slices.Resource = discovery.Resources(rest.Base{Objects: store, Now: time.Now})[0]
	return k
}

// servers returns the endpoints of the service.
func servers(t *testing.T, k *Keeper) []string {
	answer, err := k.endpoints.Storage.(rest.Getter).Get(t.Context(), serverKey)
	require.NoError(t, err)
	object, err := answer.Object()
	require.NoError(t, err)
	addresses := []string{}
	for _, subset := range object.(*corev1.Endpoints).Subsets {
		for _, address := range subset.Addresses {
			addresses = append(addresses, netip.AddrPortFrom(netip.MustParseAddr(address.IP), uint16(subset.Ports[0].Port)).String())
		}
	}
	list, err := k.slices.Storage.(rest.Lister).List(t.Context(), serverKey.Namespace, rest.ListOptions{Labels: labels.Everything(), Fields: fields.Everything()})
	require.NoError(t, err)
	inSlices := []string{}
	require.NoError(t, list.Each(t.Context(), func(_ int, item rest.Answer) error {
		object, err := item.Object()
		require.NoError(t, err)
		slice := object.(*discoveryv1.EndpointSlice)
		assert.Equal(t, "kubernetes", slice.Labels[discoveryv1.LabelServiceName])
		assert.Equal(t, slice.Name == "kubernetes", slice.Labels[discoveryv1.LabelManagedBy] == "", slice.Name)
		for _, endpoint := range slice.Endpoints {
			inSlices = append(inSlices, netip.AddrPortFrom(netip.MustParseAddr(endpoint.Addresses[0]), uint16(*slice.Ports[0].Port)).String())
		}
		return nil
	}))
	assert.Equal(t, addresses, inSlices)
	return addresses
}

func TestTheServersThatLiveAreTheEndpointsOfTheirService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(1)
		a, b, c := serverAt(store, "10.0.0.1:6443"), serverAt(store, "10.0.0.2:6443"), serverAt(store, "10.0.0.2:7443")
		for _, server := range []*Keeper{a, b, c} {
			require.NoError(t, server.Sync())
		}
		assert.Equal(t, []string{"10.0.0.1:6443", "10.0.0.2:6443", "10.0.0.2:7443"}, servers(t, a))
		require.NoError(t, b.Stop())
		assert.Equal(t, []string{"10.0.0.1:6443", "10.0.0.2:7443"}, servers(t, a), "one that ends leaves at once")
		require.NoError(t, b.Sync())
		assert.Equal(t, []string{"10.0.0.1:6443", "10.0.0.2:7443"}, servers(t, a), "and does not come back")
		for range 2 { // c has died
			time.Sleep(syncPeriod) // the bubble's clock: it takes no time
			require.NoError(t, a.Sync())
		}
		assert.Equal(t, []string{"10.0.0.1:6443"}, servers(t, a))
		require.NoError(t, a.Stop())
	})
}

func TestADeletedServiceOfTheServerComesBackAndThatOfJune2014Stays(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	a := serverAt(store, "10.0.0.1:6443")
	require.NoError(t, a.Sync())
	_, err := a.services.Storage.(rest.Deleter).Delete(t.Context(), serverKey, rest.DeleteOptions{})
	require.NoError(t, err)
	require.NoError(t, a.Sync())
	assert.Equal(t, []string{"10.0.0.1:6443"}, servers(t, a))
	require.NoError(t, a.Stop())

	store = memory.New(1)
	first := registry.MakeRegistry(store)
	require.NoError(t, first.CreateService(api.Service{JSONBase: api.JSONBase{ID: "kubernetes"}, Port: 80}))
	a = serverAt(store, "10.0.0.1:6443")
	require.NoError(t, a.Sync())
	require.NoError(t, a.Stop())
	service, err := first.GetService("kubernetes")
	require.NoError(t, err)
	assert.Equal(t, 80, service.Port)
	_, err = store.Get(api.DefaultKey(api.EndpointsKind, "kubernetes"))
	assert.Equal(t, api.NotFound, api.KindOf(err))
}
