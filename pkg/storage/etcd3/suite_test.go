package etcd3_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/storage/storagetest"
)

// The store passes the contract suite, through two processes on one etcd. That of 3.5 is
// written to by others at the same time. One of 3.4, which does not tell how far a watch is,
// is not: reads would go to etcd, which takes longer. Of each test for a kind it gets one,
// for an etcd does not know kinds.
func TestTheContractOfAStore(t *testing.T) {
	t.Parallel()
	t.Run("etcd=3.5", func(t *testing.T) {
		t.Parallel()
		storagetest.Run(t, twoProcesses(shared))
	})
	t.Run("etcd=3.4", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("make long runs etcd 3.4")
		}
		members := &pool{setup: etcdtest.Setup{Version: "3.4"}, owner: t}
		harness := twoProcesses(members.place)
		harness.Kinds = []api.Kind{api.TaskKind}
		storagetest.Run(t, harness)
	})
}

// twoProcesses is for the suite: two stores on one etcd.
func twoProcesses(where func(*testing.T) place) storagetest.Harness {
	return storagetest.Harness{
		Make: func(t *testing.T) storage.Interface { return makeMember(t, where(t)) },
		Another: func(t *testing.T, store storage.Interface) storage.Interface {
			return makeMember(t, store.(*member).place)
		},
		Atomic: true,
		Forget: forget,
		Slow:   true,
	}
}

// pool is etcds that live as long as a test. Its subtests use them, one each at a time.
type pool struct {
	setup etcdtest.Setup
	owner *testing.T

	mu     sync.Mutex // guards what follows
	free   []place
	places int
}

// place returns a place of an etcd to which nobody else writes until the test ends.
func (p *pool) place(t *testing.T) place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		made, _ := started(p.owner, p.setup)
		p.free = append(p.free, made)
	}
	last := len(p.free) - 1
	taken := p.free[last]
	p.free = p.free[:last]
	p.places++
	taken.prefix = fmt.Sprintf("/test-%06d", p.places)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, taken)
	})
	return taken
}

// member is the store of a process whose etcd a test can make forget.
type member struct {
	*etcd3.Store
	place place

	begun chan struct{} // closed when there is a watch

	mu       sync.Mutex           // guards what follows
	ends     []context.CancelFunc // of all watches
	isToEnd  bool                 // what happened before the next watch is compacted
	earliest int64                // what happened before this revision is compacted
}

func makeMember(t *testing.T, p place) *member {
	m := &member{place: p, begun: make(chan struct{})}
	begin := sync.OnceFunc(func() { close(m.begun) })
	client := p.connect(t)
	m.Store = p.storeOver(t, &around{
		Client: client,
		do: func(op clientv3.Op, call func() (clientv3.OpResponse, error)) (clientv3.OpResponse, error) {
			if m.isCompacted(op.Rev()) {
				return clientv3.OpResponse{}, rpctypes.ErrCompacted
			}
			return call()
		},
		watch: func(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
			m.mu.Lock()
			if m.isToEnd {
				m.isToEnd = false
				m.earliest = max(p.put(t, "/something", "that comes"), p.put(t, "/something", "after the watch"))
			}
			ctx, end := context.WithCancel(ctx)
			m.ends = append(m.ends, end)
			m.mu.Unlock()
			begin()
			if m.isCompacted(revision) {
				return toldCompacted(m.earliest), nil
			}
			return client.Watch(ctx, prefix, revision)
		},
	})
	return m
}

func (m *member) isCompacted(revision int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return revision != 0 && revision < m.earliest
}

// toldCompacted is a watch of which etcd does not know all changes any more.
func toldCompacted(earliest int64) clientv3.WatchChan {
	responses := make(chan clientv3.WatchResponse, 1)
	responses <- clientv3.WatchResponse{Canceled: true, CompactRevision: earliest}
	close(responses)
	return responses
}

// forget is a Harness.Forget: a watch breaks and cannot go on, because etcd is compacted.
func forget(t *testing.T, store storage.Interface, kinds ...api.Kind) {
	before, m := version(t, store), store.(*member)
	<-m.begun
	m.mu.Lock()
	m.isToEnd = true
	for _, end := range m.ends { // which one feeds the cache, the store knows
		end()
	}
	m.mu.Unlock()
	for {
		_, err := store.Watch(storage.Selection{Kind: kinds[0]}, before)
		if err != nil {
			requireKind(t, api.Expired, err)
			return
		}
	}
}
