package proxy

import (
	"context"
	"net"
	"strconv"
	"sync"
)

// Proxier serves the services on one machine's address.
type Proxier struct {
	address string
	shared  *shared
	ports   map[int]*portListener
}

func newProxier(address string, shared *shared) *Proxier {
	return &Proxier{address: address, shared: shared, ports: map[int]*portListener{}}
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
