// Package stop lets a kubelet be as if its process was stopped, so that people see what becomes of the pods of a machine that is
// silent.
package stop

import (
	"context"
	"net"
	"sync"
	"time"

	"kube2014/pkg/util"
	"kube2014/pkg/util/workqueue"
)

// maxTime is how long a kubelet is stopped at most, whatever it is told.
const maxTime = 10 * time.Minute

// Stop is until when a kubelet is stopped. It is safe for concurrent use.
type Stop struct {
	mu    sync.Mutex // guards what follows
	told  time.Time  // what was obeyed last
	until time.Time
}

// Obey stops until the time that the kubelet is told, if that is news. It reports whether it is.
func (s *Stop) Obey(told, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !told.After(now) || told.Equal(s.told) || s.until.After(now) {
		return false
	}
	s.told, s.until = told, told
	if most := now.Add(maxTime); told.After(most) {
		s.until = most
	}
	return true
}

// Left returns for how long the kubelet is stopped; not more than 0 if it is not.
func (s *Stop) Left() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.until)
}

// Wait waits until the kubelet is not stopped, or the context ends.
func (s *Stop) Wait(ctx context.Context) {
	if left := s.Left(); left > 0 {
		util.Sleep(ctx, left)
	}
}

// Waiting lets a sync wait while the kubelet is stopped.
func (s *Stop) Waiting(sync workqueue.Sync) workqueue.Sync {
	return func(ctx context.Context, key string) error {
		s.Wait(ctx)
		return sync(ctx, key)
	}
}

// Listener cuts its connections when they are used while a kubelet is stopped.
type Listener struct {
	net.Listener
	Stop *Stop
}

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &stoppedConn{conn, l.Stop}, nil
}

type stoppedConn struct {
	net.Conn
	stop *Stop
}

// Read implements net.Conn.
func (c *stoppedConn) Read(to []byte) (int, error) {
	n, err := c.Conn.Read(to)
	if c.stop.Left() > 0 {
		return 0, c.cut()
	}
	return n, err
}

// Write implements net.Conn.
func (c *stoppedConn) Write(text []byte) (int, error) {
	if c.stop.Left() > 0 {
		return 0, c.cut()
	}
	return c.Conn.Write(text)
}

func (c *stoppedConn) cut() error {
	_ = c.Close() // the client has gone
	return net.ErrClosed
}
