package proxy

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/client/cache"
)

// LoadBalancerRR knows the endpoints of all services, and whose turn it is. It is safe for
// concurrent use.
type LoadBalancerRR struct {
	mu    sync.Mutex                  // guards what follows
	turns map[string]map[string]*turn // by service and name of the port
}

// turn is whose turn it is of the endpoints of a service port.
type turn struct {
	endpoints []string // sorted
	last      string   // the one that had the last turn; it may be gone
	clients   map[netip.Addr]client
	swept     time.Time // when forgotten clients were last removed
}

// client is the endpoint with which a client stays.
type client struct {
	endpoint string
	until    time.Time
}

// NewLoadBalancerRR returns a balancer that knows no endpoints.
func NewLoadBalancerRR() *LoadBalancerRR {
	return &LoadBalancerRR{turns: map[string]map[string]*turn{}}
}

// OnUpdate sets the endpoints of a service. The next turn is that of the endpoint that now follows
// the last one.
func (l *LoadBalancerRR) OnUpdate(endpoints *corev1.Endpoints) {
	l.mu.Lock()
	defer l.mu.Unlock()
	service := cache.Key(endpoints)
	before, now := l.turns[service], map[string]*turn{}
	for port, addresses := range addressesByPort(endpoints) {
		now[port] = before[port]
		if now[port] == nil {
			now[port] = &turn{clients: map[netip.Addr]client{}}
		}
		now[port].endpoints = addresses
	}
	l.turns[service] = now
}

// OnDelete forgets the endpoints of a service.
func (l *LoadBalancerRR) OnDelete(endpoints *corev1.Endpoints) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.turns, cache.Key(endpoints))
}

// addressesByPort returns the addresses (HOST:PORT) of each port that is ready, sorted.
func addressesByPort(endpoints *corev1.Endpoints) map[string][]string {
	all := map[string][]string{}
	for _, subset := range endpoints.Subsets {
		for _, port := range subset.Ports {
			if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
				continue
			}
			for _, address := range subset.Addresses {
				all[port.Name] = append(all[port.Name], net.JoinHostPort(address.IP, strconv.Itoa(int(port.Port))))
			}
		}
	}
	for port, addresses := range all {
		slices.Sort(addresses)
		all[port] = slices.Compact(addresses)
	}
	return all
}

// NextEndpoint returns the next endpoint of a service port, except those that were tried; false if
// there is none. A client stays with its endpoint for the time of the affinity, unless that is 0.
func (l *LoadBalancerRR) NextEndpoint(name ServicePortName, from netip.Addr, affinity time.Duration, tried map[string]bool) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	turn := l.turns[name.Service][name.Port]
	if turn == nil {
		return "", false
	}
	if affinity > 0 {
		return turn.of(from, affinity, tried)
	}
	return turn.next(tried)
}

// next returns the next endpoint that was not tried.
func (t *turn) next(tried map[string]bool) (string, bool) {
	start, found := slices.BinarySearch(t.endpoints, t.last)
	if found {
		start++
	}
	for i := range t.endpoints {
		endpoint := t.endpoints[(start+i)%len(t.endpoints)]
		if !tried[endpoint] {
			t.last = endpoint
			return endpoint, true
		}
	}
	return "", false
}

// of returns the endpoint of a client, which is the next one if it has none that is left.
func (t *turn) of(from netip.Addr, affinity time.Duration, tried map[string]bool) (string, bool) {
	now := time.Now()
	t.sweep(now, affinity)
	known := t.clients[from]
	endpoint := known.endpoint
	_, stays := slices.BinarySearch(t.endpoints, endpoint)
	if !stays || tried[endpoint] || !now.Before(known.until) {
		var ok bool
		if endpoint, ok = t.next(tried); !ok {
			return "", false
		}
	}
	t.clients[from] = client{endpoint, now.Add(affinity)}
	return endpoint, true
}

// sweep removes the clients whose affinity is over, at most once per affinity.
func (t *turn) sweep(now time.Time, affinity time.Duration) {
	if now.Sub(t.swept) < affinity {
		return
	}
	t.swept = now
	maps.DeleteFunc(t.clients, func(_ netip.Addr, known client) bool { return !now.Before(known.until) })
}
