package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
)

// idleListener closes the idle connections of HTTP/2 when the server ends. http.Server.Shutdown tells their clients so, and
// would then wait a second for each to close its connection.
type idleListener struct {
	net.Listener
	ending atomic.Bool
}

// Accept implements net.Listener.
func (l *idleListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &idleConn{Conn: conn, ending: &l.ending}, nil
}

type idleConn struct {
	net.Conn
	ending *atomic.Bool // of the listener
	idle   atomic.Bool  // there is no request
}

// Write closes the connection after the first write of an idle connection of a server that ends. Each answer, and the frame
// that tells the end, is flushed by a write after the one before: so nothing is lost.
func (c *idleConn) Write(text []byte) (int, error) {
	wasIdle := c.idle.Load()
	n, err := c.Conn.Write(text)
	if wasIdle && c.ending.Load() && c.idle.Load() {
		_ = c.Conn.Close() // the error does not matter
	}
	return n, err
}

// noteIdle is the ConnState of the http.Server of a port with TLS. The idle connections of HTTP/1 are closed by that.
func noteIdle(conn net.Conn, state http.ConnState) {
	conn.(*tls.Conn).NetConn().(*idleConn).idle.Store(state == http.StateIdle)
}
