package proxy

import (
	"context"
	"errors"
	"log"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/util"
)

const (
	// A port that cannot be opened is retried after a pause that begins with minPause and doubles
	// up to maxPause. If a listener fails to accept, such as without free file descriptors, its
	// pause doubles up to maxAcceptPause.
	minPause       = 100 * time.Millisecond
	maxPause       = 30 * time.Second
	maxAcceptPause = time.Second
	// logPause is the least time between two lines of a listener about connections.
	logPause = time.Minute
)

// portListener passes on the connections to one port of a machine.
type portListener struct {
	shared  *shared
	address string
	slots   chan struct{} // has a value for each connection
	stop    func()        // closes it, and waits for that

	port   atomic.Pointer[servicePort] // the service that has the port now
	logged atomic.Int64                // when it was last logged, in nanoseconds
}

// run listens until the context ends. Its connections may go on after that.
func (l *portListener) run(ctx context.Context) {
	logged := false
	for pause := minPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		listener, err := l.shared.Listen("tcp", l.address)
		if err == nil {
			pause, logged = minPause, false
			l.accept(ctx, listener)
		} else if !logged {
			logged = true
			port := l.port.Load()
			log.Printf("proxy: service %s: %v", port.name, err)
			l.shared.Recorder.Eventf(port.service, corev1.EventTypeWarning, "FailedToListen", "%v", err)
		}
		util.Sleep(ctx, pause)
	}
}

// accept serves the connections to a listener until the context ends, or the listener is closed.
func (l *portListener) accept(ctx context.Context, listener net.Listener) {
	l.shared.own.Store(l.address, true)
	defer l.shared.own.Delete(l.address)
	shut := func() { _ = listener.Close() } // whoever is first: later ones fail
	defer shut()
	defer context.AfterFunc(ctx, shut)()
	for pause := minPause; l.take(ctx); {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			pause = minPause
			l.shared.connections.Go(func() {
				defer l.release()
				l.serve(conn)
			})
			continue
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			l.release()
			return
		}
		l.release()
		l.logf("%v", err)
		util.Sleep(ctx, pause)
		pause = min(2*pause, maxAcceptPause)
	}
}

// take waits until there may be one more connection. It returns false when the context has ended.
func (l *portListener) take(ctx context.Context) bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	l.logf("there are %d connections: others must wait", cap(l.slots))
	select {
	case l.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *portListener) release() { <-l.slots }

// serve passes a connection on. Without an endpoint it is reset. One that the client has reset is not
// passed on: two proxies could pass such connections to each other for ever.
func (l *portListener) serve(client net.Conn) {
	defer util.HandleCrash()
	if wasReset(client) {
		reset(client)
		return
	}
	server, err := l.dial(client.RemoteAddr())
	if err != nil {
		l.logf("%v", err)
		reset(client)
		return
	}
	relay(l.shared.cut, client, server)
}

var errNoEndpoint = errors.New("there is no endpoint")

// dial connects to an endpoint. It tries each at most once; the error is that of the last one. It
// skips endpoints on which this process itself listens: the connection would only come back.
func (l *portListener) dial(from net.Addr) (net.Conn, error) {
	err := errNoEndpoint
	for tried := map[string]bool{}; l.shared.cut.Err() == nil; {
		port := l.port.Load()
		endpoint, ok := l.shared.balancer.NextEndpoint(port.name, addressOf(from), port.affinity, tried)
		if !ok {
			break
		}
		tried[endpoint] = true
		if _, own := l.shared.own.Load(endpoint); own {
			continue
		}
		var conn net.Conn
		if conn, err = l.dialOne(endpoint); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (l *portListener) dialOne(endpoint string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(l.shared.cut, l.shared.DialTimeout)
	defer cancel()
	return l.shared.Dial(ctx, "tcp", endpoint)
}

// addressOf returns the address of a client, without its port. Clients without an IP address all have
// the zero address.
func addressOf(from net.Addr) netip.Addr {
	address, _ := netip.ParseAddrPort(from.String())
	return address.Addr().Unmap()
}

// logf logs a line about connections, at most once per logPause.
func (l *portListener) logf(format string, args ...interface{}) {
	now, last := time.Now().UnixNano(), l.logged.Load()
	if last != 0 && now-last < int64(logPause) || !l.logged.CompareAndSwap(last, now) {
		return
	}
	log.Printf("proxy: service %s at %s: "+format, append([]interface{}{l.port.Load().name, l.address}, args...)...)
}
