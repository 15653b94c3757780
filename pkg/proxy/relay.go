package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// relay copies the bytes of two connections to each other, and closes both when both directions
// have ended, or the context has. A slow reader slows down the writer.
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

// maxSilence is how long one side may send nothing after the other one has ended. Whether it is gone
// cannot be seen.
const maxSilence = 5 * time.Minute

// pass copies one direction, and passes on its end. The other direction may go on, as long as
// something comes. A connection that fails cuts both, so that a partial answer does not look complete.
func pass(to, from net.Conn, cut func()) {
	_, err := io.Copy(to, from)
	if errors.Is(err, os.ErrDeadlineExceeded) { // the other direction has ended
		err = passRest(to, from)
	}
	if err == nil {
		err = closeWrite(to)
	}
	if err == nil {
		err = to.SetReadDeadline(time.Now())
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		cut()
	}
}

// passRest copies until the end, or until maxSilence.
func passRest(to, from net.Conn) error {
	for piece := make([]byte, 32<<10); ; {
		if err := from.SetReadDeadline(time.Now().Add(maxSilence)); err != nil {
			return err
		}
		n, err := from.Read(piece)
		if n > 0 {
			if _, failed := to.Write(piece[:n]); failed != nil {
				return failed
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
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

// wasReset reports whether the other side has reset a connection. Only of one of TCP this is known.
func wasReset(conn net.Conn) bool {
	if _, isTCP := conn.(interface{ SetLinger(seconds int) error }); !isTCP {
		return false
	}
	_, err := conn.Write(nil) // sends nothing
	return err != nil
}
