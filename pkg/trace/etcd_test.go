package trace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/storage/etcd3"
)

// answering is an etcd that gives each call the same answer.
type answering struct {
	etcd3.Client
	answer clientv3.OpResponse
	err    error
}

func (a answering) Do(context.Context, clientv3.Op) (clientv3.OpResponse, error) {
	return a.answer, a.err
}

func TestEveryCallToEtcd3IsNarrated(t *testing.T) {
	t.Parallel()
	at := func(revision int64) *etcdserverpb.ResponseHeader {
		return &etcdserverpb.ResponseHeader{Revision: revision}
	}
	got := func(keys int64) clientv3.OpResponse {
		return (&clientv3.GetResponse{Header: at(7), Count: keys}).OpResponse()
	}
	txn := func(succeeded bool) clientv3.OpResponse {
		return (&clientv3.TxnResponse{Header: at(8), Succeeded: succeeded}).OpResponse()
	}
	create := clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision("/r/pods/a"), "=", 0)},
		[]clientv3.Op{clientv3.OpPut("/r/pods/a", `{"id":"a"}`), clientv3.OpPut("/r/hostports/m/80", "a"), clientv3.OpDelete("/r/hostports/m/81")}, nil)
	s := makeTraced(nil)
	for _, call := range []struct {
		op     clientv3.Op
		answer clientv3.OpResponse
		err    error
	}{
		{clientv3.OpGet("/r/", clientv3.WithCountOnly()), got(0), nil},
		{clientv3.OpGet("/r/", clientv3.WithPrefix()), got(3), nil},
		{clientv3.OpGet("/r/pods/a"), got(1), nil},
		{clientv3.OpGet("/r/pods/a"), clientv3.OpResponse{}, errors.New("etcd at http://x: away")},
		{clientv3.OpPut("/r/pods/a", strings.Repeat("x", 100)), (&clientv3.PutResponse{Header: at(8)}).OpResponse(), nil},
		{clientv3.OpDelete("/r/pods/a"), (&clientv3.DeleteResponse{Header: at(8)}).OpResponse(), nil},
		{create, txn(true), nil},
		{create, txn(false), nil},
		{create, clientv3.OpResponse{}, rpctypes.ErrNoSpace},
	} {
		answer, err := s.Etcd3Client(answering{answer: call.answer, err: call.err}).Do(t.Context(), call.op)
		assert.Equal(t, call.answer, answer)
		assert.Equal(t, call.err, err)
	}
	assert.Equal(t, `
     1ms EtcdClient.Get /r/ → 0 keys, revision 7
     1ms EtcdClient.Get /r/ → 3 keys, revision 7
     1ms EtcdClient.Get /r/pods/a → 1 key, revision 7
     1ms EtcdClient.Get /r/pods/a → error: etcd at http://x: away
     1ms EtcdClient.Put /r/pods/a = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... → ok
     1ms EtcdClient.Delete /r/pods/a → ok
     1ms EtcdClient.Txn if 1 condition: Put /r/pods/a = {"id":"a"}, Put /r/hostports/m/80 = "a", Delete /r/hostports/m/81 → revision 8
     1ms EtcdClient.Txn if 1 condition: Put /r/pods/a = {"id":"a"}, Put /r/hostports/m/80 = "a", Delete /r/hostports/m/81 → a condition is not met, revision 8
     1ms EtcdClient.Txn if 1 condition: Put /r/pods/a = {"id":"a"}, Put /r/hostports/m/80 = "a", Delete /r/hostports/m/81 → error: etcdserver: mvcc: database space exceeded
`, "\n"+s.trace())
}

func (a answering) Grant(_ context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	return &clientv3.LeaseGrantResponse{ID: 0x2014, TTL: seconds + 1}, a.err
}

func TestALeaseOfEtcd3IsNarrated(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	granted, err := s.Etcd3Client(answering{}).Grant(t.Context(), 3660)
	require.NoError(t, err)
	assert.EqualValues(t, 3661, granted.TTL)
	_, err = s.Etcd3Client(answering{err: errors.New("etcd at http://x: away")}).Grant(t.Context(), 2)
	assert.EqualError(t, err, "etcd at http://x: away")
	assert.Equal(t, `
     1ms EtcdClient.Grant a lease of 3660s → lease 2014 of 3661s
     1ms EtcdClient.Grant a lease of 2s → error: etcd at http://x: away
`, "\n"+s.trace())
}

func TestACallToEtcd3IsOneLineAndBoundedWhateverGoesThrough(t *testing.T) {
	t.Parallel()
	evil := "a\nb\x1b[31m\u202e\xff" + strings.Repeat("é", 10000)
	var many []clientv3.Op
	for i := range 2000 {
		many = append(many, clientv3.OpPut(fmt.Sprint(evil, i), evil))
	}
	s := makeTraced(nil)
	for _, op := range []clientv3.Op{clientv3.OpGet(evil), clientv3.OpDelete(evil), many[0], clientv3.OpTxn(nil, many, nil)} {
		_, err := s.Etcd3Client(answering{err: errors.New(evil)}).Do(t.Context(), op)
		require.Error(t, err)
	}
	lines := strings.Split(strings.TrimSuffix(s.trace(), "\n"), "\n")
	require.Len(t, lines, 4)
	for _, line := range lines {
		assert.Regexp(t, `^ +\d+ms EtcdClient\.`, line)
		assert.Less(t, len(line), 1500)
		assert.NotContains(t, line, "\x1b")
		assert.NotContains(t, line, "\u202e")
	}
}

// Who watches shows what comes, when it comes.
func TestAWatchOfEtcd3IsNotNarrated(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	watched := &watchable{}
	_, progress := s.Etcd3Client(watched).Watch(t.Context(), "/r/", 7)
	assert.Equal(t, "/r/ 7", watched.from)
	assert.NoError(t, progress(t.Context()))
	assert.Empty(t, s.trace())
}

type watchable struct {
	etcd3.Client
	from string
}

func (w *watchable) Watch(_ context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
	w.from = fmt.Sprint(prefix, " ", revision)
	return nil, func(context.Context) error { return nil }
}
