package etcd3

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// grantor is an etcd that grants leases, of two seconds at least.
type grantor struct {
	Client
	takes time.Duration // each grant
	err   error

	mu   sync.Mutex // guards ends
	ends map[clientv3.LeaseID]time.Time
}

func (g *grantor) Grant(_ context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	time.Sleep(g.takes)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return nil, g.err
	}
	seconds = max(seconds, 2)
	id := clientv3.LeaseID(len(g.ends) + 1)
	g.ends[id] = time.Now().Add(time.Duration(seconds) * time.Second)
	return &clientv3.LeaseGrantResponse{ID: id, TTL: seconds}, nil
}

func granting() (*grantor, *leases) {
	g := &grantor{ends: map[clientv3.LeaseID]time.Time{}}
	return g, &leases{client: g}
}

// ending returns a change that writes an event with a TTL.
func ending(id string, ttl time.Duration) storage.Change {
	return storage.Change{Key: api.DefaultKey("events", id), Action: storage.Write, TTL: ttl}
}

// leaseOf returns the lease that an event gets now. It never ends before the TTL is over, and a
// twentieth of it later at most, or a minute, or the seconds to which etcd rounds up.
func leaseOf(t *testing.T, g *grantor, l *leases, ttl time.Duration) clientv3.LeaseID {
	got, err := l.of([]storage.Change{ending("x", ttl)})
	require.NoError(t, err)
	id := got[api.DefaultKey("events", "x")]
	stays := time.Until(g.ends[id])
	assert.GreaterOrEqual(t, stays, ttl)
	assert.Less(t, stays, ttl+min(ttl/20, time.Minute)+2*time.Second)
	return id
}

func TestEventsThatAreWrittenSoonAfterEachOtherShareALease(t *testing.T) {
	t.Parallel()
	for ttl, sharing := range map[time.Duration]time.Duration{
		time.Hour: time.Minute, 24 * time.Hour: time.Minute, 10 * time.Minute: 30 * time.Second, time.Minute: 3 * time.Second,
		time.Second: time.Second, // etcd grants two
	} {
		t.Run(ttl.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, l := granting()
				first := leaseOf(t, g, l, ttl)
				for range 10 {
					time.Sleep(sharing / 10)
					assert.Equal(t, first, leaseOf(t, g, l, ttl))
				}
				time.Sleep(time.Millisecond)
				assert.NotEqual(t, first, leaseOf(t, g, l, ttl))
				assert.Len(t, g.ends, 2)
			})
		})
	}
}

func TestALeaseIsForATTLAndAtMostAThousandEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, l := granting()
		for range 2*maxKeys + 1 {
			leaseOf(t, g, l, time.Hour)
		}
		assert.Len(t, g.ends, 3)
		leaseOf(t, g, l, 59*time.Minute)
		assert.Len(t, g.ends, 4)
	})
}

// So the count of leases is bounded by those who write at once.
func TestWhoWritesWhileALeaseIsGrantedWaitsForNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, l := granting()
		g.takes = time.Second
		began := time.Now()
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				_, err := l.of([]storage.Change{ending("x", time.Hour)})
				assert.NoError(t, err)
			})
		}
		group.Wait()
		assert.Equal(t, time.Second, time.Since(began))
		assert.Len(t, g.ends, 8)
		leaseOf(t, g, l, time.Hour)
		assert.Len(t, g.ends, 8)
	})
}

func TestOnlyWhatEndsNeedsALease(t *testing.T) {
	t.Parallel()
	g, l := granting()
	got, err := l.of([]storage.Change{ending("a", 0), storage.Delete(api.DefaultKey("events", "b"), storage.Any), storage.Require(api.DefaultKey("events", "c"))})
	require.NoError(t, err)
	assert.Empty(t, got)
	assert.Empty(t, g.ends)
	got, err = l.of([]storage.Change{ending("a", time.Hour), ending("b", time.Hour), ending("c", time.Hour), ending("d", time.Hour),
		ending("a", 0), storage.Delete(api.DefaultKey("events", "b"), storage.Any), storage.Require(api.DefaultKey("events", "c"))})
	require.NoError(t, err)
	assert.Equal(t, map[api.Key]clientv3.LeaseID{api.DefaultKey("events", "c"): 1, api.DefaultKey("events", "d"): 1}, got)
}

func TestALeaseThatIsNotGrantedOrForgottenIsNotShared(t *testing.T) {
	t.Parallel()
	g, l := granting()
	g.err = errors.New("away")
	_, err := l.of([]storage.Change{ending("x", time.Hour)})
	assert.Equal(t, g.err, err)
	g.err = nil
	assert.EqualValues(t, 1, leaseOf(t, g, l, time.Hour))
	l.forget()
	assert.EqualValues(t, 2, leaseOf(t, g, l, time.Hour))
}
