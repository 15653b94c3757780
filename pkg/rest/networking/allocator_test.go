package networking_test

import (
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/networking"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// ten is a range of six addresses and three ports.
var ten = networking.Ranges{ClusterIPs: netip.MustParsePrefix("10.0.0.0/29"), FirstPort: 30000, LastPort: 30002}

// services is the storage of services over a store.
type services struct {
	t     *testing.T
	store *networking.Allocator
	rows  rest.Resource
}

func servicesOn(t *testing.T, objects storage.Interface, ranges networking.Ranges) services {
	s := services{t: t, store: networking.NewAllocator(objects, ranges, time.Now)}
	for _, row := range core.Resources(core.Config{Objects: s.store, Placer: registry.MakePodPlacer(s.store, nil), Now: time.Now}) {
		if row.Name == "services" {
			s.rows = row
		}
	}
	return s
}

func (s services) create(name string, spec corev1.ServiceSpec) (*corev1.Service, error) {
	if len(spec.Ports) == 0 && spec.Type != corev1.ServiceTypeExternalName {
		spec.Ports = []corev1.ServicePort{{Port: 80}}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	return s.in(s.rows.Storage.(rest.Creater).Create(s.t.Context(), keyOf(name), service, rest.WriteOptions{}))
}

func keyOf(name string) rest.Key { return rest.Key{Namespace: "default", Name: name} }

func (s services) mustCreate(name string, spec corev1.ServiceSpec) *corev1.Service {
	service, err := s.create(name, spec)
	require.NoError(s.t, err)
	return service
}

func (s services) in(answer rest.Answer, err error) (*corev1.Service, error) {
	if err != nil {
		return nil, err
	}
	object, err := answer.Object()
	require.NoError(s.t, err)
	return object.(*corev1.Service), nil
}

func (s services) update(name string, change func(*corev1.ServiceSpec)) (*corev1.Service, error) {
	answer, _, err := s.rows.Storage.(rest.Updater).Update(s.t.Context(), keyOf(name), func(current rest.Object) (rest.Object, error) {
		change(&current.(*corev1.Service).Spec)
		return current, nil
	}, rest.WriteOptions{})
	return s.in(answer, err)
}

func (s services) delete(name string) {
	_, err := s.rows.Storage.(rest.Deleter).Delete(s.t.Context(), keyOf(name), rest.DeleteOptions{})
	require.NoError(s.t, err)
}

// held returns what services hold: addresses, and ports.
func (s services) held() (ids []string) {
	ids = []string{}
	for _, kind := range []api.Kind{"ipaddresses", "servicenodeports"} {
		list, err := s.store.List(storage.Selection{Kind: kind})
		require.NoError(s.t, err)
		for _, object := range list.Items {
			ids = append(ids, object.Key().ID)
		}
	}
	return ids
}

func TestAServiceGetsAnAddressAndNodePortsUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	s := servicesOn(t, memory.New(1), ten)
	plain := s.mustCreate("plain", corev1.ServiceSpec{})
	assert.True(t, ten.ClusterIPs.Contains(netip.MustParseAddr(plain.Spec.ClusterIP)), plain.Spec.ClusterIP)
	assert.Equal(t, []string{plain.Spec.ClusterIP}, plain.Spec.ClusterIPs)
	assert.Equal(t, []corev1.IPFamily{corev1.IPv4Protocol}, plain.Spec.IPFamilies)
	assert.Equal(t, corev1.IPFamilyPolicySingleStack, *plain.Spec.IPFamilyPolicy)
	reached := s.mustCreate("reached", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{
		{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}, {Name: "dns-tcp", Port: 53}, {Name: "web", Port: 80, NodePort: 30001}}})
	ports := reached.Spec.Ports
	assert.Equal(t, ports[0].NodePort, ports[1].NodePort, "one port of two protocols")
	assert.NotEqual(t, ports[0].NodePort, ports[2].NodePort)
	assert.Len(t, s.held(), 4)
	s.delete("plain")
	assert.NotContains(t, s.held(), plain.Spec.ClusterIP)
	require.NoError(t, registry.MakeRegistry(s.store).DeleteService("reached"), "at the first door")
	assert.Empty(t, s.held())
}

func TestWhatAServiceWantsIsItsOwnOrRefusedInTodaysWords(t *testing.T) {
	t.Parallel()
	s := servicesOn(t, memory.New(1), ten)
	s.mustCreate("first", corev1.ServiceSpec{ClusterIP: "10.0.0.1", Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30000}}})
	dual, families := corev1.IPFamilyPolicyRequireDualStack, []corev1.IPFamily{corev1.IPv6Protocol}
	for want, spec := range map[string]corev1.ServiceSpec{
		`spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: provided IP is already allocated`:                                                            {ClusterIP: "10.0.0.1"},
		`spec.clusterIPs: Invalid value: ["10.0.0.0"]: failed to allocate IP 10.0.0.0: the provided IP (10.0.0.0) is not in the valid range. The range of valid IPs is 10.0.0.0/29`: {ClusterIP: "10.0.0.0"},
		`spec.clusterIPs: Invalid value: ["10.0.0.7"]: failed to allocate IP 10.0.0.7: the provided IP (10.0.0.7) is not in the valid range. The range of valid IPs is 10.0.0.0/29`: {ClusterIP: "10.0.0.7"},
		`spec.ports[0].nodePort: Invalid value: 30000: provided port is already allocated`:                                                                                          {Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30000}}},
		`spec.ports[0].nodePort: Invalid value: 30003: the provided port is not in the valid range. The range of valid ports is 30000-30002`: {
			Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30003}}},
		`spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`: {IPFamilyPolicy: &dual},
		`spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`:                                      {IPFamilies: families},
	} {
		_, err := s.create("second", spec)
		assert.EqualError(t, err, `Service "second" is invalid: `+want)
	}
	assert.ElementsMatch(t, []string{"10.0.0.1", "30000"}, s.held(), "what is refused holds nothing")
}

func TestAServiceThatChangesItsTypeHoldsWhatItNeeds(t *testing.T) {
	t.Parallel()
	s := servicesOn(t, memory.New(1), ten)
	created := s.mustCreate("web", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort})
	address, port := created.Spec.ClusterIP, created.Spec.Ports[0].NodePort
	kept, err := s.update("web", func(spec *corev1.ServiceSpec) { // what it was created from
		*spec = corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 81}}}
	})
	require.NoError(t, err)
	assert.Equal(t, address, kept.Spec.ClusterIP)
	assert.Equal(t, port, kept.Spec.Ports[0].NodePort)
	inside, err := s.update("web", func(spec *corev1.ServiceSpec) { spec.Type = corev1.ServiceTypeClusterIP })
	require.NoError(t, err)
	assert.Zero(t, inside.Spec.Ports[0].NodePort)
	assert.Empty(t, inside.Spec.ExternalTrafficPolicy)
	assert.Equal(t, []string{address}, s.held())
	outside, err := s.update("web", func(spec *corev1.ServiceSpec) {
		spec.Type, spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
	})
	require.NoError(t, err)
	assert.Empty(t, outside.Spec.ClusterIPs)
	assert.Empty(t, outside.Spec.IPFamilies)
	assert.Empty(t, s.held())
	balanced, err := s.update("web", func(spec *corev1.ServiceSpec) {
		spec.Type, spec.ExternalName, spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, "", corev1.ServiceExternalTrafficPolicyLocal
	})
	require.NoError(t, err)
	assert.NotEmpty(t, balanced.Spec.ClusterIP)
	assert.NotZero(t, balanced.Spec.HealthCheckNodePort)
	assert.Len(t, s.held(), 3, "an address, a node port, and one for health checks")
}

func TestAHeadlessServiceHasNoAddressAndOneWithoutASelectorAnyFamilies(t *testing.T) {
	t.Parallel()
	s := servicesOn(t, memory.New(1), ten)
	selecting := s.mustCreate("selecting", corev1.ServiceSpec{ClusterIP: "None", Selector: map[string]string{"a": "b"}})
	assert.Equal(t, []corev1.IPFamily{corev1.IPv4Protocol}, selecting.Spec.IPFamilies)
	assert.Equal(t, corev1.IPFamilyPolicySingleStack, *selecting.Spec.IPFamilyPolicy)
	ofNobody := s.mustCreate("of-nobody", corev1.ServiceSpec{ClusterIP: "None"})
	assert.Equal(t, []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, ofNobody.Spec.IPFamilies)
	assert.Equal(t, corev1.IPFamilyPolicyRequireDualStack, *ofNobody.Spec.IPFamilyPolicy)
	assert.Empty(t, s.held())
}

func TestAFullRangeIsAnInternalError(t *testing.T) {
	t.Parallel()
	s := servicesOn(t, memory.New(1), ten)
	for _, name := range strings.Split("abcdef", "") {
		s.mustCreate(name, corev1.ServiceSpec{})
	}
	_, err := s.create("g", corev1.ServiceSpec{})
	assert.EqualError(t, err, `Internal error occurred: failed to allocate a serviceIP for Service "g": range is full`)
	s.delete("a")
	s.mustCreate("g", corev1.ServiceSpec{})
}

// D49. K4.
func TestAServiceOfJune2014GetsNothingUntilTodaysAPIChangesIt(t *testing.T) {
	t.Parallel()
	s := servicesOn(t, memory.New(1), ten)
	first := registry.MakeRegistry(s.store)
	require.NoError(t, first.CreateService(api.Service{JSONBase: api.JSONBase{ID: "web"}, Port: 80}))
	require.NoError(t, first.UpdateService(api.Service{JSONBase: api.JSONBase{ID: "web"}, Port: 81}))
	assert.Empty(t, s.held())
	changed, err := s.update("web", func(spec *corev1.ServiceSpec) { spec.PublishNotReadyAddresses = true })
	require.NoError(t, err)
	require.NoError(t, first.UpdateService(api.Service{JSONBase: api.JSONBase{ID: "web"}, Port: 82}))
	assert.Equal(t, []string{changed.Spec.ClusterIP}, s.held())
}

// before calls a function before the first commit of a store.
type before struct {
	storage.Interface
	once sync.Once
	do   func(changes []storage.Change)
}

func (b *before) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	b.once.Do(func() { b.do(changes) })
	return b.Interface.Commit(changes...)
}

func TestAServerThatIsSecondGivesAnotherAddress(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	var first *corev1.Service
	second := servicesOn(t, &before{Interface: store, do: func(changes []storage.Change) {
		first = servicesOn(t, store, ten).mustCreate("first", corev1.ServiceSpec{ClusterIP: changes[1].Key.ID})
	}}, ten).mustCreate("second", corev1.ServiceSpec{})
	assert.NotEqual(t, first.Spec.ClusterIP, second.Spec.ClusterIP)
}

func TestManyServersNeverGiveAnAddressTwice(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	wide := networking.Ranges{ClusterIPs: netip.MustParsePrefix("fd00::/120"), FirstPort: 30000, LastPort: 30099}
	var all sync.WaitGroup
	addresses := make([]string, 80)
	for i := range addresses {
		all.Go(func() {
			service, err := servicesOn(t, store, wide).create("s"+string(rune('a'+i/26))+string(rune('a'+i%26)), corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort})
			if assert.NoError(t, err) {
				addresses[i] = service.Spec.ClusterIP
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, address := range addresses {
		assert.False(t, seen[address], address)
		seen[address] = true
	}
	assert.Len(t, servicesOn(t, store, wide).held(), 160)
}

func TestARepairTakesWhatServicesHaveAndReleasesTheRest(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	s := servicesOn(t, store, ten)
	s.mustCreate("gone", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort})
	_, err := store.Commit(storage.Delete(api.DefaultKey(api.ServiceKind, "gone"), storage.Present)) // by a server without ranges
	require.NoError(t, err)
	kept := s.mustCreate("kept", corev1.ServiceSpec{})
	held, err := store.Get(api.Key{Kind: "ipaddresses", ID: kept.Spec.ClusterIP})
	require.NoError(t, err)
	_, err = store.Commit(storage.Delete(held.Key(), held.Version()))
	require.NoError(t, err)
	require.NoError(t, s.store.Repair())
	assert.Equal(t, []string{kept.Spec.ClusterIP}, s.held())
	version, err := store.Version()
	require.NoError(t, err)
	require.NoError(t, s.store.Repair())
	again, err := store.Version()
	require.NoError(t, err)
	assert.Equal(t, version, again, "nothing is left to repair")
}

func TestTwoServicesWithOneAddressAreReported(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	s := servicesOn(t, store, ten)
	s.mustCreate("one", corev1.ServiceSpec{ClusterIP: "10.0.0.2"})
	stored, err := store.Get(api.DefaultKey(api.ServiceKind, "one"))
	require.NoError(t, err)
	twin := stored.Object.(*api.Service).WithID("two").(api.Service)
	_, err = store.Commit(storage.Create(&twin)) // by a server without ranges
	require.NoError(t, err)
	assert.EqualError(t, s.store.Repair(), "services default/one and default/two both have 10.0.0.2: delete one of them")
	s.delete("one")
	require.NoError(t, s.store.Repair())
	assert.Equal(t, []string{"10.0.0.2"}, s.held(), "it is that of the other one now")
}
