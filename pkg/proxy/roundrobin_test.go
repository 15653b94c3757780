package proxy

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var web = ServicePortName{Service: "default/web"}

func endpoints(addresses ...string) *corev1.Endpoints {
	return &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Subsets: subsets(addresses...)}
}

// taken returns the endpoints of some turns.
func taken(balancer *LoadBalancerRR, turns int) (all []string) {
	for range turns {
		endpoint, _ := balancer.NextEndpoint(web, netip.Addr{}, 0, nil)
		all = append(all, endpoint)
	}
	return all
}

func TestTheTurnGoesOnWhenEndpointsChange(t *testing.T) {
	t.Parallel()
	balancer := NewLoadBalancerRR()
	assert.Equal(t, []string{""}, taken(balancer, 1), "nothing is known")
	for _, row := range []struct {
		endpoints *corev1.Endpoints
		turns     []string
	}{
		{endpoints("b:1", "a:1", "d:1"), []string{"a:1", "b:1"}},
		{endpoints("a:1", "b:1", "d:1"), []string{"d:1", "a:1"}},
		{endpoints("a:1", "b:1", "c:1", "d:1"), []string{"b:1", "c:1"}},
		{endpoints("a:1", "b:1", "e:1"), []string{"e:1", "a:1"}},
		{endpoints("e:1"), []string{"e:1", "e:1"}},
		{endpoints("a:1", "a:1", "b:1"), []string{"a:1", "b:1", "a:1"}},
		{endpoints(), []string{""}},
		{endpoints("c:1"), []string{"c:1"}},
	} {
		balancer.OnUpdate(row.endpoints)
		assert.Equal(t, row.turns, taken(balancer, len(row.turns)))
	}
	balancer.OnDelete(endpoints())
	assert.Equal(t, []string{""}, taken(balancer, 1))
}

func TestEndpointsAreThoseOfThePortsName(t *testing.T) {
	t.Parallel()
	balancer := NewLoadBalancerRR()
	object := endpoints()
	object.Subsets = []corev1.EndpointSubset{{
		Addresses:         []corev1.EndpointAddress{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
		NotReadyAddresses: []corev1.EndpointAddress{{IP: "10.0.0.9"}},
		Ports: []corev1.EndpointPort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}, {Name: "https", Port: 443},
			{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}},
	}, {Addresses: []corev1.EndpointAddress{{IP: "10.0.0.2"}}, Ports: []corev1.EndpointPort{{Name: "http", Port: 8080}}}}
	balancer.OnUpdate(object)
	for port, expected := range map[string][]string{
		"http":  {"10.0.0.1:80", "10.0.0.2:8080", "[fd00::1]:80", "10.0.0.1:80"},
		"https": {"10.0.0.1:443", "[fd00::1]:443", "10.0.0.1:443", "[fd00::1]:443"},
		"dns":   {"", "", "", ""},
		"":      {"", "", "", ""},
	} {
		var all []string
		for range 4 {
			endpoint, ok := balancer.NextEndpoint(ServicePortName{"default/web", port}, netip.Addr{}, 0, nil)
			assert.Equal(t, endpoint != "", ok)
			all = append(all, endpoint)
		}
		assert.Equal(t, expected, all, port)
	}
}

func TestWhatWasTriedIsPassedOver(t *testing.T) {
	t.Parallel()
	balancer := NewLoadBalancerRR()
	balancer.OnUpdate(endpoints("a:1", "b:1"))
	tried := map[string]bool{"a:1": true}
	endpoint, ok := balancer.NextEndpoint(web, netip.Addr{}, 0, tried)
	assert.True(t, ok)
	assert.Equal(t, "b:1", endpoint)
	tried["b:1"] = true
	_, ok = balancer.NextEndpoint(web, netip.Addr{}, 0, tried)
	assert.False(t, ok)
}

func TestAClientComesToTheEndpointWhereItWasLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		balancer := NewLoadBalancerRR()
		balancer.OnUpdate(endpoints("a:1", "b:1", "c:1"))
		first, second := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		expect := func(expected string, from netip.Addr, tried ...string) {
			t.Helper()
			set := map[string]bool{}
			for _, endpoint := range tried {
				set[endpoint] = true
			}
			endpoint, ok := balancer.NextEndpoint(web, from, time.Minute, set)
			assert.Equal(t, expected, endpoint)
			assert.Equal(t, expected != "", ok)
		}
		expect("a:1", first)
		expect("b:1", second)
		expect("a:1", first)
		time.Sleep(59 * time.Second)
		expect("a:1", first)
		time.Sleep(59 * time.Second)
		expect("a:1", first)
		expect("c:1", second) // it was away for too long
		expect("b:1", first, "a:1")
		expect("b:1", first) // the one that did not refuse
		balancer.OnUpdate(endpoints("a:1", "c:1"))
		expect("c:1", first)
		expect("", second, "a:1", "c:1")
	})
}

func TestClientsThatDoNotComeBackAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		balancer := NewLoadBalancerRR()
		balancer.OnUpdate(endpoints("a:1"))
		from := netip.MustParseAddr("10.0.0.1")
		for range 1000 {
			_, ok := balancer.NextEndpoint(web, from, 10*time.Second, nil)
			assert.True(t, ok)
			from = from.Next()
			time.Sleep(time.Second)
		}
		assert.LessOrEqual(t, len(balancer.turns["default/web"][""].clients), 20)
	})
}
