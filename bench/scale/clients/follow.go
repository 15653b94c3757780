package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// follow follows some objects by a watch, as an informer does: it begins with all of them, and goes on at the next server
// where it was at the last one.
type follow struct {
	link   *link
	path   string        // with a query
	inStep chan struct{} // closed when it has all objects
	known  atomic.Int64  // the number of objects
	event  func(ctx context.Context, kind watch.EventType, event []byte) error

	version string // of the last event; "" if it must begin anew
	initial bool   // the events are of the objects that it begins with
	last    []byte // the last event
	spare   []byte // the memory of the next one
	ready   func() // closes inStep
}

func (l *Load) newFollow(client int, path string, event func(context.Context, watch.EventType, []byte) error) *follow {
	inStep := make(chan struct{})
	return &follow{link: l.link(client), path: path, inStep: inStep, event: event, ready: sync.OnceFunc(func() { close(inStep) })}
}

// run follows the objects until the context ends. The error is one that a client does not expect.
func (f *follow) run(ctx context.Context) error {
	for {
		err := f.watch(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		f.link.load.Failures.add("watch: ended")
		f.link.next()
		if !sleep(ctx, retryPause) {
			return nil
		}
	}
}

// watch is run for one connection.
func (f *follow) watch(ctx context.Context) error {
	if err := f.link.open(); err != nil {
		return nil
	}
	conn := f.link.conn
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	query := "&watch=1&allowWatchBookmarks=true&resourceVersion=" + f.version
	if f.initial = f.version == ""; f.initial {
		f.known.Store(0)
		query += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
	}
	stream, err := conn.Stream(f.link.load.request(reader, "GET", f.path+query, nil))
	if err != nil {
		f.link.load.Failures.add("watch: no answer")
		return nil
	}
	events := bufio.NewReaderSize(stream, linkBuffer)
	for {
		if err := f.next(events); err != nil {
			break
		}
		if err := f.received(ctx); err != nil {
			return err
		}
	}
	return f.resumable()
}

// next reads an event.
func (f *follow) next(events *bufio.Reader) error {
	var size [4]byte
	if _, err := io.ReadFull(events, size[:]); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	next := f.spare[:0] // the last event stays whole if the next one does not come
	if cap(next) < n {
		next = make([]byte, 0, 2*n)
	}
	if _, err := io.ReadFull(events, next[:n]); err != nil {
		return err
	}
	f.last, f.spare = next[:n], f.last
	return nil
}

// received takes the last event. Its type is the first field of the message.
func (f *follow) received(ctx context.Context) error {
	if len(f.last) < 2 || len(f.last) < 2+int(f.last[1]) {
		return fmt.Errorf("an event of %d bytes has no type", len(f.last))
	}
	kind := watch.EventType(f.last[2 : 2+f.last[1]])
	switch kind {
	case watch.Added:
		f.known.Add(1)
	case watch.Deleted:
		f.known.Add(-1)
	case watch.Error:
		f.link.load.Failures.add("watch: expired")
		f.version, f.initial = "", true
		return nil
	case watch.Bookmark: // the first one ends the initial events
		f.initial = false
		f.ready()
		return nil
	}
	return f.event(ctx, kind, f.last)
}

// resumable notes where to go on.
func (f *follow) resumable() error {
	if f.initial || len(f.last) == 0 {
		return nil
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(f.last); err != nil {
		return err
	}
	var object metav1.PartialObjectMetadata // all objects begin alike
	err := decode(event.Object.Raw, &object)
	f.version = object.ResourceVersion
	return err
}

// informed are the kinds that an informer follows: all that the load has many of.
var informed = map[string]string{"pods": allPods, "nodes": nodesPath, "leases": leasesPath}

// informer follows everything.
type informer struct{ followed map[string]*follow }

func (l *Load) newInformer(client int) *informer {
	i := &informer{map[string]*follow{}}
	for kind, path := range informed {
		var f *follow
		f = l.newFollow(client, path+"?", func(_ context.Context, event watch.EventType, text []byte) error {
			l.Events.Add(1)
			if event == watch.Added && kind == "pods" && !f.initial {
				l.arrived(text)
			}
			return nil
		})
		i.followed[kind] = f
	}
	return i
}

// arrived notes how long ago the pod in an event was created, if that was in this turn.
func (l *Load) arrived(event []byte) {
	if at := bytes.Index(event, []byte(podPrefix)); at >= 0 && len(event) >= at+len(podPrefix)+8 {
		if sent := l.turn.Load().sentAt(podNumber(string(event[at : at+len(podPrefix)+8]))); !sent.IsZero() {
			l.Times.add(EventOfPod, time.Since(sent))
		}
	}
}
