package etcd3_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/storagetest"
)

func TestAFullEtcdTakesNoWritesAndAnswersReads(t *testing.T) {
	t.Parallel()
	p, _ := started(t, etcdtest.Setup{Flags: []string{"--quota-backend-bytes=1000000"}})
	store := p.store(t)
	commit(t, store, storage.Create(service("x", 1)), storage.Create(taskOn("m", "x", 80)))
	var err error
	for err == nil {
		_, err = p.client.Do(t.Context(), clientv3.OpPut("/large", strings.Repeat("x", 100000)))
	}
	require.ErrorIs(t, err, rpctypes.ErrNoSpace)

	for operation, change := range map[string]storage.Change{
		"create service": storage.Create(service("y", 1)),
		"update service": storage.Update(service("x", 2), storage.Present),
		"update task":    storage.Update(taskOn("m", "x", 81), storage.Present),
	} {
		_, err := store.Commit(change)
		requireKind(t, api.Unavailable, err)
		assert.EqualError(t, err, operation+": etcd is full: it takes no changes until its quota (NOSPACE) has room again")
	}
	assert.Equal(t, 1, portOf(t, store, "x"))
	assert.Equal(t, 1, portOf(t, p.store(t), "x"))
	_, err = store.Healthz()
	assert.NoError(t, err)

	p.compact(t)
	client := p.administer(t)
	_, err = client.Defragment(t.Context(), p.servers[0])
	require.NoError(t, err)
	_, err = client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{})
	require.NoError(t, err)
	commit(t, store, storage.Update(service("x", 2), storage.Present))
	assert.Equal(t, 2, portOf(t, store, "x"))
	requireConsistent(t, p)
}

func TestWhatEtcdDoesNotTakeAtOnce(t *testing.T) {
	t.Parallel()
	many := make([]int, 200)
	for i := range many {
		many[i] = i + 1
	}
	long := func(size int) *api.Service {
		return &api.Service{JSONBase: api.JSONBase{ID: "x"}, Labels: map[string]string{"long": strings.Repeat("x", size)}}
	}
	for name, row := range map[string]struct {
		object api.Object
		kind   api.ErrorKind
		says   string
	}{
		"many host ports":                        {taskOn("m", "x", many...), api.TooLarge, "create task: it changes more host ports than etcd takes in one transaction (see its flag --max-txn-ops)"},
		"an object that is too large":            {long(1600000), api.TooLarge, "create service: it is larger than etcd takes in one request (see its flag --max-request-bytes)"},
		"one that is too large for a connection": {long(3000000), api.TooLarge, "create service: it is larger than etcd takes in one request (see its flag --max-request-bytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shared(t)
			store := p.store(t)
			_, err := store.Commit(storage.Create(row.object))
			requireKind(t, row.kind, err)
			assert.EqualError(t, err, row.says)
			assert.Empty(t, p.values(t))
			machine := storagetest.FirstFree(t, store, []string{"m"}, taskOn("", "y", many...))
			assert.Equal(t, "m", machine, "what was refused has no host ports")
		})
	}
}

// A client that is told Unavailable may try again, which is useless after a refusal.
func TestWhatAnErrorOfEtcdMeans(t *testing.T) {
	t.Parallel()
	const unreachable = "get service: the store cannot be reached"
	for name, row := range map[string]struct {
		err  error
		kind api.ErrorKind
		says string
	}{
		"no leader":                {rpctypes.ErrNoLeader, api.Unavailable, unreachable},
		"a timeout":                {rpctypes.ErrTimeout, api.Unavailable, unreachable},
		"too many requests":        {rpctypes.ErrTooManyRequests, api.Unavailable, unreachable},
		"a broken connection":      {etcdtest.ErrLost, api.Unavailable, unreachable},
		"an error that is wrapped": {fmt.Errorf("etcd at x: %w", status.Error(codes.Unavailable, "no")), api.Unavailable, unreachable},
		"a corrupt member":         {rpctypes.ErrCorrupt, api.Internal, "get service: etcd refused the request: etcdserver: corrupt cluster"},
		"a user who may not":       {rpctypes.ErrPermissionDenied, api.Unavailable, "get service: etcd does not accept the user of this server: etcdserver: permission denied"},
		"a user whom nobody knows": {rpctypes.ErrAuthFailed, api.Unavailable, "get service: etcd does not accept the user of this server: etcdserver: authentication failed, invalid user ID or password"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := shared(t).storeOver(t, &around{watch: silentWatch, do: func(clientv3.Op, func() (clientv3.OpResponse, error)) (clientv3.OpResponse, error) {
				return clientv3.OpResponse{}, row.err
			}})
			_, err := store.Get(api.DefaultKey(api.ServiceKind, "x"))
			requireKind(t, row.kind, err)
			assert.EqualError(t, err, row.says)
			assert.True(t, errors.Is(err, row.err), "the log tells why")
			for _, request := range []func() error{
				func() error { _, err := store.List(storage.Selection{Kind: api.ServiceKind}); return err },
				func() error { _, err := store.ListAt(storage.Selection{Kind: api.ServiceKind}, 1); return err },
				func() error {
					_, err := store.FirstFree(storagetest.OnEach([]string{"m"}, *taskOn("", "y", 80)))
					return err
				},
				func() error { _, err := store.Version(); return err },
				func() error { _, err := store.Watch(storage.Selection{Kind: api.ServiceKind}, 1); return err },
				func() error { _, err := store.Healthz(); return err },
				func() error { _, err := store.Commit(storage.Create(service("x", 1))); return err },
				func() error {
					_, err := store.Commit(storage.Require(api.DefaultKey(api.ServiceKind, "x")))
					return err
				},
				store.Reconcile,
			} {
				requireKind(t, row.kind, request())
			}
		})
	}
}
