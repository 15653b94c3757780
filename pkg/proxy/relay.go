package proxy

import (
	"context"
	"io"
	"net"
	"sync"
)

// relay passes the bytes of two connections to each other, and closes both when both directions
// have ended, or the context has. Who is slow to read holds up who writes.
func relay(ctx context.Context, client, server net.Conn) {
	cut := func() {
		reset(client)
		reset(server)
	}
	defer context.AfterFunc(ctx, cut)()
	var answer sync.WaitGroup
	answer.Go(func() { pass(client, server, cut) })
	pass(server, client, cut)
	answer.Wait()
	_, _ = client.Close(), server.Close() // all that was to be said is said
}

// pass passes on one direction. Its end is passed on, too: the other direction may go on. A
// connection that fails cuts both, so that nobody takes half of an answer for a whole one.
func pass(to, from net.Conn, cut func()) {
	_, err := io.Copy(to, from)
	if err == nil {
		err = closeWrite(to)
	}
	if err != nil {
		cut()
	}
}

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}

// reset closes a connection so that the other side sees that it failed.
func reset(conn net.Conn) {
	if tcp, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0) // it may be closed already
	}
	_ = conn.Close()
}
