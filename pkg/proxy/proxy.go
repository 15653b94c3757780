// Package proxy is the proxy of the machines: on the address of each it listens on the ports of all
// services, and passes each connection on to one of the service's endpoints, in turn.
package proxy

import (
	"cmp"
	"context"
	"log"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/record"
)

// The defaults of a Config.
const (
	defaultMaxConnections = 1000
	defaultDialTimeout    = 3 * time.Second // enough for two attempts of the kernel
	defaultDrainTimeout   = 3 * time.Second
)

// Config says what a Proxy needs.
type Config struct {
	Informers *informers.Informers
	Recorder  record.EventRecorder
	Addresses []string // of the machines: each has a listener for each service port

	Listen func(network, address string) (net.Listener, error)                  // nil: net.Listen
	Dial   func(ctx context.Context, network, address string) (net.Conn, error) // nil: that of a net.Dialer

	// MaxConnections is how many connections a service port has at once on an address; 0: 1,000.
	// The kernel queues those beyond that, and refuses them when its queue is full.
	MaxConnections int
	DialTimeout    time.Duration // how long an endpoint is waited for; 0: 3 seconds
	DrainTimeout   time.Duration // how long connections may go on after the end of the context; 0: 3 seconds
}

// Proxy has a Proxier for each machine. All take turns over the same endpoints.
type Proxy struct {
	recorder record.EventRecorder
	services *cache.Store[*corev1.Service]
	synced   []func() bool
	changed  chan struct{} // has a value if services may have changed
	proxiers []*Proxier
	shared   *shared
	reported map[problem]bool // the problems of services that were reported
}

// shared is what the Proxiers of a process share.
type shared struct {
	Config
	balancer    *LoadBalancerRR
	own         sync.Map // has the addresses on which this process listens
	connections sync.WaitGroup
	cut         context.Context // when it ends, connections are cut
}

// New returns a proxy of the services and endpoints of the informers.
func New(config Config) *Proxy {
	if config.Listen == nil {
		config.Listen = net.Listen
	}
	if config.Dial == nil {
		config.Dial = (&net.Dialer{}).DialContext
	}
	config.MaxConnections = cmp.Or(config.MaxConnections, defaultMaxConnections)
	config.DialTimeout = cmp.Or(config.DialTimeout, defaultDialTimeout)
	config.DrainTimeout = cmp.Or(config.DrainTimeout, defaultDrainTimeout)
	p := &Proxy{recorder: config.Recorder, changed: make(chan struct{}, 1), shared: &shared{Config: config, balancer: NewLoadBalancerRR()}}
	for _, address := range config.Addresses {
		p.proxiers = append(p.proxiers, &Proxier{address: address, shared: p.shared, ports: map[int]*portListener{}})
	}
	p.watch(config.Informers)
	return p
}

// watch registers the handlers at the informers.
func (p *Proxy) watch(informers *informers.Informers) {
	services, endpoints := informers.Services(), cache.OnChange(p.shared.balancer.OnUpdate)
	endpoints.OnDelete = p.shared.balancer.OnDelete
	p.services = services.Store()
	p.synced = []func() bool{
		services.AddEventHandler(cache.OnAny(func(*corev1.Service) { p.wake() })),
		informers.Endpoints().AddEventHandler(endpoints),
	}
}

func (p *Proxy) wake() {
	select {
	case p.changed <- struct{}{}:
	default: // the channel has a value already
	}
}

// Run serves the services until the context ends. Then it closes the listeners, and cuts the
// connections that do not end in the DrainTimeout. It is called once.
func (p *Proxy) Run(ctx context.Context) {
	if !cache.WaitForSync(ctx, p.synced...) {
		return
	}
	var cut context.CancelFunc
	p.shared.cut, cut = context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	for p.sync(ctx); ctx.Err() == nil; {
		select {
		case <-p.changed:
			p.sync(ctx)
		case <-ctx.Done():
		}
	}
	for _, proxier := range p.proxiers {
		proxier.sync(ctx, nil)
	}
	late := time.AfterFunc(p.shared.DrainTimeout, cut)
	defer late.Stop()
	p.shared.connections.Wait()
}

// sync opens and closes the listeners of all Proxiers, and reports new problems.
func (p *Proxy) sync(ctx context.Context) {
	ports, problems := portsOf(p.services.List())
	for _, proxier := range p.proxiers {
		proxier.sync(ctx, ports)
	}
	reported := map[problem]bool{}
	for problem, service := range problems {
		if !p.reported[problem] {
			log.Printf("proxy: service %s: %s", cache.Key(service), problem.message)
			p.recorder.Eventf(service, corev1.EventTypeWarning, problem.reason, "%s", problem.message)
		}
		reported[problem] = true
	}
	p.reported = reported
}

// Proxier serves the services on one machine's address.
type Proxier struct {
	address string
	shared  *shared
	ports   map[int]*portListener
}

// sync listens on the ports of services and no others, until the context ends. A listener stays
// when another service gets its port. Connections go on after their listener is closed.
func (p *Proxier) sync(ctx context.Context, ports map[int]servicePort) {
	for number, listener := range p.ports {
		if _, wanted := ports[number]; !wanted {
			listener.stop()
			delete(p.ports, number)
		}
	}
	for number, port := range ports {
		if listener := p.ports[number]; listener != nil {
			listener.port.Store(&port)
		} else {
			p.ports[number] = p.start(ctx, number, &port)
		}
	}
}

func (p *Proxier) start(ctx context.Context, number int, port *servicePort) *portListener {
	l := &portListener{shared: p.shared, address: net.JoinHostPort(p.address, strconv.Itoa(number)), slots: make(chan struct{}, p.shared.MaxConnections)}
	l.port.Store(port)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { l.run(ctx) })
	l.stop = func() {
		cancel()
		running.Wait()
	}
	return l
}
