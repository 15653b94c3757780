package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/master/servertest"
	"kube2014/pkg/util/loopback"
)

// network has listeners at any addresses, such as 10.0.0.1:80. It counts the connections at both
// of their ends.
type network struct {
	open func() (net.Listener, func(ctx context.Context) (net.Conn, error), error)

	mu    sync.Mutex // guards what follows
	dials map[string]func(ctx context.Context) (net.Conn, error)
	ends  int // of connections that are open
}

// inMemory returns a network for a synctest bubble. Its connections cannot be half closed.
func inMemory() *network {
	return &network{dials: map[string]func(context.Context) (net.Conn, error){}, open: func() (net.Listener, func(ctx context.Context) (net.Conn, error), error) {
		listener := loopback.Listen()
		return listener, listener.Dial, nil
	}}
}

// onLoopback returns a network of real connections. Each address is a free port.
func onLoopback() *network {
	return &network{dials: map[string]func(context.Context) (net.Conn, error){}, open: func() (net.Listener, func(ctx context.Context) (net.Conn, error), error) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		return listener, func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
		}, nil
	}}
}

// Listen is for Config.Listen.
func (n *network) Listen(_, address string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dials[address] != nil {
		return nil, fmt.Errorf("listen %s: %w", address, syscall.EADDRINUSE)
	}
	listener, dial, err := n.open()
	if err != nil {
		return nil, err
	}
	n.dials[address] = dial
	return &listenerOf{Listener: listener, network: n, closed: sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.dials, address)
	})}, nil
}

// Dial is for Config.Dial.
func (n *network) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	dial := n.dials[address]
	n.mu.Unlock()
	if dial == nil {
		return nil, fmt.Errorf("dial %s: %w", address, syscall.ECONNREFUSED)
	}
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	return n.counted(conn), nil
}

func (n *network) counted(conn net.Conn) net.Conn {
	n.count(1)
	closed := sync.OnceFunc(func() { n.count(-1) })
	if tcp, ok := conn.(*net.TCPConn); ok {
		return &tcpEnd{tcp, closed}
	}
	return &end{conn, closed}
}

func (n *network) count(more int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ends += more
}

// left returns how many ends of connections are open.
func (n *network) left() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ends
}

func (n *network) listens(address string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials[address] != nil
}

type listenerOf struct {
	net.Listener
	network *network
	closed  func()
}

func (l *listenerOf) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.network.counted(conn), nil
}

func (l *listenerOf) Close() error {
	l.closed()
	return l.Listener.Close()
}

type end struct {
	net.Conn
	closed func()
}

func (e *end) Close() error {
	e.closed()
	return e.Conn.Close()
}

type tcpEnd struct {
	*net.TCPConn
	closed func()
}

func (e *tcpEnd) Close() error {
	e.closed()
	return e.TCPConn.Close()
}

// events are the events that were recorded, a line for each.
type events struct {
	mu    sync.Mutex // guards lines
	lines []string
}

// Eventf implements record.EventRecorder.
func (e *events) Eventf(about clientv1.Object, eventType, reason, message string, args ...interface{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, fmt.Sprintf("%s: %s %s: ", about.GetName(), eventType, reason)+fmt.Sprintf(message, args...))
}

// taken returns the events since the last call.
func (e *events) taken() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	lines := e.lines
	e.lines = nil
	return lines
}

// proxied is a proxy of the machines 10.0.0.1 and 10.0.0.2 in a network.
type proxied struct {
	*network
	t      testing.TB
	server *servertest.Server
	client *clientv1.Client
	events *events
	stop   func() // lets the proxy end, and waits for it
	end    func() // lets it end
}

// start runs a proxy until the end of the test. Then no connection may be left.
func start(t testing.TB, n *network, change ...func(*Config)) *proxied {
	server := servertest.Start(t)
	p := &proxied{network: n, t: t, server: server, client: server.Client(t, "proxy"), events: &events{}}
	config := Config{
		Informers: informers.New(p.client, 10*time.Second), Recorder: p.events, Addresses: []string{"10.0.0.1", "10.0.0.2"},
		Listen: n.Listen, Dial: n.Dial,
	}
	for _, change := range change {
		change(&config)
	}
	proxy := New(config)
	ctx, cancel := context.WithCancel(t.Context())
	config.Informers.Run(ctx)
	var running sync.WaitGroup
	running.Go(func() { proxy.Run(ctx) })
	p.end, p.stop = cancel, func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(func() {
		p.stop()
		require.Zero(t, n.left(), "ends of connections")
	})
	return p
}

func service(name string, ports ...int) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i, port := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: int32(port)})
		if len(ports) > 1 {
			s.Spec.Ports[i].Name = "p" + strconv.Itoa(i)
		}
	}
	return s
}

func (p *proxied) serve(name string, ports ...int) {
	p.t.Helper()
	_, err := p.client.Services().Create(p.t.Context(), service(name, ports...))
	require.NoError(p.t, err)
}

// subsets returns a subset with one port for each address (HOST:PORT).
func subsets(addresses ...string) []corev1.EndpointSubset {
	var all []corev1.EndpointSubset
	for _, address := range addresses {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			panic(err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			panic(err)
		}
		all = append(all, corev1.EndpointSubset{
			Addresses: []corev1.EndpointAddress{{IP: host}}, Ports: []corev1.EndpointPort{{Port: int32(number)}},
		})
	}
	return all
}

// behind lets a service have endpoints.
func (p *proxied) behind(name string, addresses ...string) {
	p.t.Helper()
	endpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name}, Subsets: subsets(addresses...)}
	_, err := p.client.Endpoints().Update(p.t.Context(), endpoints) // or creates them
	require.NoError(p.t, err)
}

// backend answers each connection at an address, until the test ends.
func (p *proxied) backend(address string, answer func(conn net.Conn)) (stop func()) {
	p.t.Helper()
	listener, err := p.Listen("tcp", address)
	require.NoError(p.t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				answer(conn)
			})
		}
	})
	stop = sync.OnceFunc(func() {
		_ = listener.Close()
		running.Wait()
	})
	p.t.Cleanup(stop)
	return stop
}

// named answers with a name.
func named(name string) func(net.Conn) {
	return func(conn net.Conn) { _, _ = io.WriteString(conn, name) }
}

// backends answer with their addresses.
func (p *proxied) backends(addresses ...string) {
	for _, address := range addresses {
		p.backend(address, named(address))
	}
}

// dial connects to an address until the test ends.
func (p *proxied) dial(address string) net.Conn {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	conn, err := p.Dial(ctx, "tcp", address)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ask returns what is answered at an address before the connection ends, and the error of that.
func (p *proxied) ask(address string) (string, error) {
	p.t.Helper()
	conn := p.dial(address)
	defer conn.Close()
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// asks returns the answers at addresses, each of which must be whole.
func (p *proxied) asks(addresses ...string) (answers []string) {
	p.t.Helper()
	for _, address := range addresses {
		answer, err := p.ask(address)
		require.NoError(p.t, err)
		answers = append(answers, answer)
	}
	return answers
}

// inBubble runs a test with a proxy in a synctest bubble. No goroutine may be left.
func inBubble(t *testing.T, test func(t *testing.T, p *proxied), change ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, inMemory(), change...)
		time.Sleep(time.Second) // it knows what there is
		test(t, p)
	})
}
