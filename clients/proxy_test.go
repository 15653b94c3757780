package clients

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// proxy gives clients one address of a server that is started again elsewhere, and cuts
// their connections.
type proxy struct {
	listener net.Listener

	mu    sync.Mutex // guards what follows
	to    string     // the server's address; empty while connections are closed at once
	conns map[net.Conn]bool
}

func newProxy(t *testing.T) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, conns: map[net.Conn]bool{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, listener.Close())
		p.forward("")
		serving.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// forward cuts all connections, and connects new ones with an address; with none if that
// is empty.
func (p *proxy) forward(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
	p.closeAll()
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeAll()
}

func (p *proxy) closeAll() {
	for conn := range p.conns {
		conn.Close()
	}
	clear(p.conns)
}

func (p *proxy) serve(conn net.Conn) {
	defer conn.Close()
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	if to == "" {
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.add(to, conn, server) {
		return
	}
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{conn, server}, {server, conn}} {
		go func() {
			_, _ = io.Copy(way[0], way[1]) // either side may end it
			ended <- struct{}{}
		}()
	}
	<-ended
	conn.Close()
	server.Close()
	<-ended
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
	delete(p.conns, server)
}

// add lets connections be cut, unless that has been done already.
func (p *proxy) add(to string, conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to != to {
		return false
	}
	for _, conn := range conns {
		p.conns[conn] = true
	}
	return true
}
