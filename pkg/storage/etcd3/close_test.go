package etcd3_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
)

func TestAClosedStoreFollowsEtcdNoMore(t *testing.T) {
	t.Parallel()
	p := shared(t)
	client := p.connect(t)
	begun := make(chan context.Context, 100)
	store := p.storeOver(t, &around{Client: client, watch: func(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
		begun <- ctx
		return client.Watch(ctx, prefix, revision)
	}})
	version(t, store)
	watching := <-begun
	require.NoError(t, watching.Err())
	store.Close()
	assert.Error(t, watching.Err())
	assert.Empty(t, begun, "no other watch has begun")
	store.Close()
}

// Close does not wait for an etcd that hangs.
func TestAStoreIsClosedWhateverItDoes(t *testing.T) {
	t.Parallel()
	hanging := &hangs{reading: make(chan struct{}), goOn: make(chan struct{})}
	store := etcd3.New(hanging, "/registry")
	failed := make(chan error)
	go func() {
		_, err := store.Commit(storage.Create(service("x", 1)))
		failed <- err
	}()
	<-hanging.reading
	store.Close()
	close(hanging.goOn)
	requireKind(t, api.Unavailable, <-failed)
}

// hangs is a client of an etcd that hangs: a read of everything ends with its context, any
// other call when it is to go on.
type hangs struct{ reading, goOn chan struct{} }

func (h *hangs) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if op.IsGet() && !op.IsCountOnly() {
		h.reading <- struct{}{}
		<-ctx.Done()
		return clientv3.OpResponse{}, ctx.Err()
	}
	<-h.goOn
	return clientv3.OpResponse{}, errors.New("closed")
}

func (h *hangs) Grant(context.Context, int64) (*clientv3.LeaseGrantResponse, error) {
	<-h.goOn
	return nil, errors.New("closed")
}

func (h *hangs) Watch(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
	return silentWatch(ctx, prefix, revision)
}

func TestAStoreThatWasNeverUsedIsClosed(t *testing.T) {
	t.Parallel()
	store := etcd3.New(nil, "/registry")
	store.Close()
	store.Close()
}
