// Package loopback is a network within a process: connections without sockets. Unlike a real one
// it works in a synctest bubble, where a wait is as long as its timeout says and takes no time.
package loopback

import (
	"context"
	"net"
	"sync"
)

// Listener is a network with one listener. It is safe for concurrent use.
type Listener struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    func()
}

var _ net.Listener = (*Listener)(nil)

// Listen returns a network without connections.
func Listen() *Listener {
	l := &Listener{accepted: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Dial connects to the listener. It waits until that accepts or is closed, or the context ends.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.accepted <- server:
		return client, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "loopback", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "loopback", Err: ctx.Err()}
	}
}

// DialContext is Dial, for an http.Transport. It connects to the listener whatever the address is.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return l.Dial(ctx)
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections that were accepted stay.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "loopback" }
func (address) String() string  { return "loopback" }
