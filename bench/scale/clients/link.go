package clients

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"kube2014/bench/measure"
)

const (
	linkBuffer = 4 << 10
	listBuffer = 256 << 10
	retryPause = time.Second // as kube-apiserver wants it
)

// link is a client's connection to one of the servers: after an error to the next one. It is for one goroutine.
type link struct {
	load   *Load
	server int
	buffer int // of the connection, in bytes
	conn   *measure.Conn
}

// link returns a client's, which begins at the server of its number.
func (l *Load) link(client int) *link {
	return &link{load: l, server: client % len(l.servers), buffer: linkBuffer}
}

func (k *link) open() (err error) {
	if k.conn == nil {
		k.conn, err = k.load.servers[k.server].DialSized(k.buffer)
	}
	return err
}

func (k *link) close() {
	if k.conn != nil {
		k.conn.Close()
		k.conn = nil
	}
}

// next leaves the server.
func (k *link) next() {
	k.close()
	k.server = (k.server + 1) % len(k.load.servers)
}

// send sends a request. If the connection is broken, the next request goes to the next server.
func (k *link) send(request []byte, keep bool) (body []byte, err error) {
	if err := k.open(); err != nil {
		k.next()
		return nil, err
	}
	body, err = k.conn.Do(request, keep)
	if err != nil && !isRefusal(err) {
		k.next()
	}
	return body, err
}

// ask sends a request until it is answered, and notes how long the answer took. An answer that asks for another try is
// not one. The error is a measure.StatusError, or that of the context.
func (k *link) ask(ctx context.Context, kind string, request []byte, keep bool) ([]byte, error) {
	for {
		start := time.Now()
		body, err := k.send(request, keep)
		if err == nil {
			k.load.Times.add(kind, time.Since(start))
			return body, nil
		}
		reason := "no answer"
		if status, ok := errors.AsType[measure.StatusError](err); ok {
			reason, _, _ = strings.Cut(string(status), ":")
		}
		k.load.Failures.add(kind + ": " + reason)
		if strings.HasPrefix(reason, "4") && !strings.HasPrefix(reason, "429") {
			return nil, err
		}
		if !sleep(ctx, retryPause/2+rand.N(retryPause)) {
			return nil, ctx.Err()
		}
	}
}

// sleep reports whether the context lasted as long.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
