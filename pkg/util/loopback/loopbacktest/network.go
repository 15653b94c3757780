package loopbacktest

import (
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"kube2014/pkg/util/loopback"
)

// Network is a network within a process in which there may be a listener at each address. It is
// safe for concurrent use. The zero value is a network without listeners.
type Network struct {
	mu        sync.Mutex // guards what follows
	listeners map[string]*bound
	last      int // the last port that was given for port 0
	cut       bool
	open      map[net.Conn]bool // the client ends of the connections
}

// firstPort is the first one that is given for port 0.
const firstPort = 49152

// Listen listens at an address of the form HOST:PORT, on a free port if that is 0, as net.Listen
// does.
func (n *Network) Listen(_, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if port == "0" {
		n.last = max(n.last+1, firstPort)
		address = net.JoinHostPort(host, strconv.Itoa(n.last))
	}
	if n.listeners[address] != nil {
		return nil, &net.OpError{Op: "listen", Net: "loopback", Err: syscall.EADDRINUSE}
	}
	if n.listeners == nil {
		n.listeners = map[string]*bound{}
	}
	l := &bound{loopback.Listen(), n, address}
	n.listeners[address] = l
	return l, nil
}

// DialContext connects to the listener at an address.
func (n *Network) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	l, cut := n.listeners[address], n.cut
	n.mu.Unlock()
	if cut {
		return nil, &net.OpError{Op: "dial", Net: "loopback", Err: syscall.ENETUNREACH}
	}
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "loopback", Err: syscall.ECONNREFUSED}
	}
	conn, err := l.Dial(ctx)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open == nil {
		n.open = map[net.Conn]bool{}
	}
	tracked := &tracked{conn, n}
	n.open[tracked] = true
	return tracked, nil
}

// Cut cuts all connections. Until Mend, there are no new ones.
func (n *Network) Cut() {
	n.mu.Lock()
	n.cut = true
	open := slices.Collect(maps.Keys(n.open))
	n.mu.Unlock()
	for _, conn := range open {
		_ = conn.Close() // a pipe has nothing to lose
	}
}

// Mend ends a Cut.
func (n *Network) Mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = false
}

// tracked is a connection that its network knows.
type tracked struct {
	net.Conn
	network *Network
}

// Close implements net.Conn.
func (t *tracked) Close() error {
	t.network.mu.Lock()
	delete(t.network.open, t)
	t.network.mu.Unlock()
	return t.Conn.Close()
}

// bound is a listener at an address of a network.
type bound struct {
	*loopback.Listener
	network *Network
	at      string
}

// Close implements net.Listener.
func (b *bound) Close() error {
	b.network.mu.Lock()
	defer b.network.mu.Unlock()
	if b.network.listeners[b.at] == b {
		delete(b.network.listeners, b.at)
	}
	return b.Listener.Close()
}

// Addr implements net.Listener.
func (b *bound) Addr() net.Addr { return at(b.at) }

type at string

func (at) Network() string  { return "tcp" }
func (a at) String() string { return string(a) }
