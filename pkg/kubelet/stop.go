package kubelet

import (
	"context"
	"log"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/util"
	"kube2014/pkg/util/workqueue"
)

// maxStop is how long a kubelet is stopped at most, whatever it is told.
const maxStop = 10 * time.Minute

// stop is until when a kubelet is stopped. It is safe for concurrent use.
type stop struct {
	mu    sync.Mutex // guards what follows
	told  time.Time  // what was obeyed last
	until time.Time
}

// obey stops until the time that the kubelet is told, if that is news. It reports whether it is.
func (s *stop) obey(told, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !told.After(now) || told.Equal(s.told) || s.until.After(now) {
		return false
	}
	s.told, s.until = told, told
	if most := now.Add(maxStop); told.After(most) {
		s.until = most
	}
	return true
}

// left returns for how long the kubelet is stopped; not more than 0 if it is not.
func (s *stop) left() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.until)
}

// wait waits until the kubelet is not stopped, or the context ends.
func (s *stop) wait(ctx context.Context) {
	if left := s.left(); left > 0 {
		util.Sleep(ctx, left)
	}
}

// waiting lets a sync wait while the kubelet is stopped.
func (s *stop) waiting(sync workqueue.Sync) workqueue.Sync {
	return func(ctx context.Context, key string) error {
		s.wait(ctx)
		return sync(ctx, key)
	}
}

// See tells the kubelet what its node is now. A runtime that is a cri.Stopper may stop the kubelet then: for a while
// it writes nothing, starts and stops nothing, and cuts the connections of its port, as if its process was stopped.
// The containers go on. It returns at once, and is safe for concurrent use. A kubelet also sees its node each time that
// it writes the node's status.
func (k *Kubelet) See(node *corev1.Node) {
	if stopper, can := k.Runtime.(cri.Stopper); can && k.stop.obey(stopper.StoppedUntil(node), time.Now()) {
		log.Printf("the kubelet of %s: stopped for %v, as its node says", k.Name, k.stop.left().Round(time.Second))
	}
}

// stoppedListener cuts its connections when they are used while a kubelet is stopped.
type stoppedListener struct {
	net.Listener
	stop *stop
}

// Accept implements net.Listener.
func (l stoppedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &stoppedConn{conn, l.stop}, nil
}

type stoppedConn struct {
	net.Conn
	stop *stop
}

// Read implements net.Conn.
func (c *stoppedConn) Read(to []byte) (int, error) {
	n, err := c.Conn.Read(to)
	if c.stop.left() > 0 {
		return 0, c.cut()
	}
	return n, err
}

// Write implements net.Conn.
func (c *stoppedConn) Write(text []byte) (int, error) {
	if c.stop.left() > 0 {
		return 0, c.cut()
	}
	return c.Conn.Write(text)
}

func (c *stoppedConn) cut() error {
	_ = c.Close() // the client has gone
	return net.ErrClosed
}
