package clienttest

import (
	"context"
	"net"
	"sync"
)

// Pipes is a network in memory with one listener. Unlike a real one it works in a
// synctest bubble, where a wait is as long as its timeout says and takes no time.
type Pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    func()
}

var _ net.Listener = (*Pipes)(nil)

// NewPipes returns a network without connections.
func NewPipes() *Pipes {
	p := &Pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Dial connects to the listener.
func (p *Pipes) Dial() (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.accepted <- server:
		return client, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
	}
}

// DialContext is Dial, for an http.Transport.
func (p *Pipes) DialContext(context.Context, string, string) (net.Conn, error) { return p.Dial() }

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error {
	p.close()
	return nil
}

// Addr implements net.Listener.
func (p *Pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
