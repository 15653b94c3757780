package etcd3_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
)

// grants is a client whose grants go through a function.
type grants struct {
	etcd3.Client
	asked atomic.Int32
	grant func(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) // nil for etcd's
}

func (g *grants) Grant(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	g.asked.Add(1)
	if g.grant == nil {
		return g.Client.Grant(ctx, seconds)
	}
	return g.grant(ctx, seconds)
}

func ending(id string, ttl time.Duration) storage.Change {
	create := storage.Create(&api.Any{Kind: "events", ID: id, ObjectMeta: api.ObjectMeta{Namespace: "default"}})
	create.TTL = ttl
	return create
}

func TestAThousandEventsShareFewLeases(t *testing.T) {
	t.Parallel()
	p := shared(t)
	client := &grants{Client: p.connect(t)}
	store := p.storeOver(t, client)
	const writers, each = 8, 125
	began := time.Now()
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			for i := range each {
				_, err := store.Commit(ending(fmt.Sprint("x", writer, "-", i), time.Hour))
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
	// On a slow machine it takes minutes.
	assert.LessOrEqual(t, int(client.asked.Load()), writers*(1+int(time.Since(began)/time.Minute)))
	leases := map[int64]bool{}
	for _, kv := range p.do(t, clientv3.OpGet(p.prefix+"/", clientv3.WithPrefix())).Get().Kvs {
		leases[kv.Lease] = true
	}
	assert.NotContains(t, leases, int64(0))
	assert.LessOrEqual(t, len(leases), int(client.asked.Load()))
}

// Etcd has lost it with its data, or it has ended before the event was written.
func TestALeaseThatEtcdDoesNotHaveIsGrantedAnewOnce(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run("etcd="+version, func(t *testing.T) {
			t.Parallel()
			p, _ := started(t, etcdtest.Setup{Version: version})
			lost, client := int32(1), &grants{Client: p.client}
			client.grant = func(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
				if client.asked.Load() <= lost {
					return &clientv3.LeaseGrantResponse{ID: 2014, TTL: seconds}, nil
				}
				return client.Client.Grant(ctx, seconds)
			}
			store := p.storeOver(t, client)
			commit(t, store, ending("x", time.Hour))
			assert.EqualValues(t, 2, client.asked.Load())

			lost = 1000
			store = p.storeOver(t, client)
			_, err := store.Commit(ending("y", time.Hour))
			requireKind(t, api.Unavailable, err)
			assert.EqualError(t, err, "create events: etcd has lost a lease that it has just granted; try again")
			assert.EqualValues(t, 4, client.asked.Load())
			_, err = store.Get(api.DefaultKey("events", "y"))
			requireKind(t, api.NotFound, err)

			lost = 0
			commit(t, store, ending("y", time.Hour))
		})
	}
}

func TestWithoutALeaseNothingIsWritten(t *testing.T) {
	t.Parallel()
	p := shared(t)
	client := &grants{Client: p.connect(t), grant: func(context.Context, int64) (*clientv3.LeaseGrantResponse, error) { return nil, etcdtest.ErrLost }}
	store := p.storeOver(t, client)
	_, err := store.Commit(storage.Create(service("beside", 1)), ending("x", time.Hour))
	requireKind(t, api.Unavailable, err)
	assert.Empty(t, p.values(t))
	commit(t, store, ending("x", 0))
	assert.EqualValues(t, 1, client.asked.Load())
}

// A process that is away sees later what has ended meanwhile, also if etcd was away too.
func TestAnEventEndsWhileEtcdIsStartedAnew(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run("etcd="+version, func(t *testing.T) {
			t.Parallel()
			p, server := started(t, etcdtest.Setup{Version: version})
			store := p.store(t)
			created := commit(t, store, ending("x", 2*time.Second), ending("y", time.Hour))[0].Version()
			store.Close()
			require.NoError(t, server.Kill())
			require.NoError(t, server.Restart())
			require.NoError(t, server.Ready())
			store = p.store(t)
			watcher, err := store.Watch(storage.Selection{Kind: "events"}, created)
			require.NoError(t, err)
			events, err := watcher.Next(t.Context())
			require.NoError(t, err)
			require.Len(t, events, 1)
			assert.Equal(t, storage.Deleted, events[0].Type)
			assert.Equal(t, "x", events[0].Before.Key().ID)
			list, err := store.List(storage.Selection{Kind: "events"})
			require.NoError(t, err)
			assert.Len(t, list.Items, 1)
		})
	}
}
