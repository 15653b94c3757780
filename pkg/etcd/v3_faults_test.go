package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kube2014/pkg/etcd/etcdtest"
)

// playedMember is a member that answers every call with one error, or with none.
type playedMember struct {
	etcdserverpb.UnimplementedKVServer
	err   error
	asked atomic.Int32
}

func (m *playedMember) Range(context.Context, *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	m.asked.Add(1)
	return &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{}}, m.err
}

func (m *playedMember) Put(context.Context, *etcdserverpb.PutRequest) (*etcdserverpb.PutResponse, error) {
	m.asked.Add(1)
	return &etcdserverpb.PutResponse{Header: &etcdserverpb.ResponseHeader{}}, m.err
}

func (m *playedMember) Txn(context.Context, *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	m.asked.Add(1)
	return &etcdserverpb.TxnResponse{Header: &etcdserverpb.ResponseHeader{}}, m.err
}

// playedLessor is the part of a member that grants leases.
type playedLessor struct {
	etcdserverpb.UnimplementedLeaseServer
	member *playedMember
}

func (l *playedLessor) LeaseGrant(_ context.Context, asked *etcdserverpb.LeaseGrantRequest) (*etcdserverpb.LeaseGrantResponse, error) {
	l.member.asked.Add(1)
	return &etcdserverpb.LeaseGrantResponse{Header: &etcdserverpb.ResponseHeader{}, ID: 7, TTL: asked.TTL}, l.member.err
}

func (m *playedMember) start(t *testing.T) (url string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	etcdserverpb.RegisterKVServer(server, m)
	etcdserverpb.RegisterLeaseServer(server, &playedLessor{member: m})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return "http://" + listener.Addr().String()
}

func do(t *testing.T, client *V3, op clientv3.Op) error {
	_, err := client.Do(t.Context(), op)
	return err
}

var (
	aGet = clientv3.OpGet("/x")
	aPut = clientv3.OpPut("/x", "1")
)

func TestAV3WriteIsSentOnceAndAReadUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]error{
		"the leader changed":                rpctypes.ErrGRPCLeaderChanged,
		"there is no leader":                rpctypes.ErrGRPCNoLeader,
		"etcd gave up":                      rpctypes.ErrGRPCTimeout,
		"etcd gave up a little before us":   rpctypes.ErrGRPCDeadlineExceeded,
		"a deadline that is not ours ended": status.Error(codes.DeadlineExceeded, "context deadline exceeded"),
		"etcd stops":                        rpctypes.ErrGRPCStopped,
		"etcd cancels":                      rpctypes.ErrGRPCCanceled,
		"a proxy has no etcd":               status.Error(codes.Unavailable, "upstream connect error"),
		"an internal error":                 status.Error(codes.Internal, "broken"),
		"an error without a name":           errors.New("broken"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, next := &playedMember{err: broken}, &playedMember{}
			client := newV3(t, Config{Servers: []string{first.start(t), next.start(t)}})
			for name, write := range map[string]clientv3.Op{
				"put":                    aPut,
				"a transaction":          clientv3.OpTxn(nil, []clientv3.Op{aPut}, nil),
				"one in its other half":  clientv3.OpTxn(nil, []clientv3.Op{aGet}, []clientv3.Op{aPut}),
				"one in another of them": clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpTxn(nil, []clientv3.Op{aPut}, nil)}, nil),
			} {
				client.current.Store(0)
				first.asked.Store(0)
				err := do(t, client, write)
				require.Error(t, err, name)
				assert.False(t, Answered(err), "%s: nobody knows whether it took effect: %v", name, err)
				assert.EqualValues(t, 1, first.asked.Load(), name)
				assert.Zero(t, next.asked.Load(), name)
				assert.EqualValues(t, 1, client.current.Load(), "the next call goes to another member")
			}
			for name, read := range map[string]clientv3.Op{
				"get":           aGet,
				"a transaction": clientv3.OpTxn(nil, []clientv3.Op{aGet}, []clientv3.Op{aGet}),
			} {
				client.current.Store(0)
				next.asked.Store(0)
				require.NoError(t, do(t, client, read), name)
				assert.EqualValues(t, 1, next.asked.Load(), name)
				assert.EqualValues(t, 1, client.current.Load())
			}
		})
	}
}

func TestALeaseIsAskedForUntilOneIsGranted(t *testing.T) {
	t.Parallel()
	first, next := &playedMember{err: rpctypes.ErrGRPCNoLeader}, &playedMember{}
	client := newV3(t, Config{Servers: []string{first.start(t), next.start(t)}})
	granted, err := client.Grant(t.Context(), 3600)
	require.NoError(t, err)
	assert.EqualValues(t, 3600, granted.TTL)
	assert.EqualValues(t, 1, first.asked.Load())
	assert.EqualValues(t, 1, next.asked.Load())

	next.err = rpctypes.ErrGRPCLeaseTTLTooLarge
	_, err = client.Grant(t.Context(), 1<<40)
	assert.ErrorIs(t, err, rpctypes.ErrLeaseTTLTooLarge)
	assert.True(t, Answered(err))
	assert.EqualValues(t, 1, first.asked.Load(), "it was refused")
}

func TestEtcdsRefusalsAreFinal(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{rpctypes.ErrGRPCNoSpace, rpctypes.ErrGRPCCompacted, rpctypes.ErrGRPCPermissionDenied,
		rpctypes.ErrGRPCRequestTooLarge, rpctypes.ErrGRPCRequestTooManyRequests, rpctypes.ErrGRPCLeaseNotFound} {
		first, next := &playedMember{err: refusal}, &playedMember{}
		client := newV3(t, Config{Servers: []string{first.start(t), next.start(t)}})
		for _, op := range []clientv3.Op{aGet, aPut} {
			err := do(t, client, op)
			assert.ErrorIs(t, err, rpctypes.Error(refusal))
			assert.True(t, Answered(err))
		}
		assert.EqualValues(t, 2, first.asked.Load())
		assert.Zero(t, next.asked.Load())
		assert.Zero(t, client.current.Load())
	}
}

func TestAV3MemberThatIsDownIsPassedOver(t *testing.T) {
	t.Parallel()
	down := downURL(t)
	client := newV3(t, Config{Servers: []string{down, realEtcd(t).URL}})
	for range 3 {
		client.current.Store(0)
		require.NoError(t, do(t, client, aPut), "nothing of it was sent")
		client.current.Store(0)
		require.NoError(t, do(t, client, aGet))
	}
	assert.NoError(t, client.Check(t.Context(), "/x"))
	client.current.Store(0)
	put(t, client, "/dir/a", "1")
	client.current.Store(0)
	events, _ := client.Watch(t.Context(), "/dir/", 1)
	assert.Equal(t, []string{"/dir/a"}, keysOf(t, events, 1))

	alone := newV3(t, Config{Servers: []string{down}})
	for _, op := range []clientv3.Op{aGet, aPut} {
		err := do(t, alone, op)
		assert.ErrorContains(t, err, "connection refused")
		assert.False(t, Answered(err))
	}
	var unusable *UnusableError
	err := alone.Check(t.Context(), "/x")
	require.Error(t, err)
	assert.NotErrorAs(t, err, &unusable)
	events, _ = alone.Watch(t.Context(), "/dir/", 0)
	resp := <-events
	assert.ErrorContains(t, resp.Err(), "connection refused")
	_, open := <-events
	assert.False(t, open)
}

func TestAClosedClientAnswersNothing(t *testing.T) {
	t.Parallel()
	client := newV3(t, Config{Servers: []string{realEtcd(t).URL}})
	put(t, client, "/x", "1")
	client.Close()
	assert.ErrorIs(t, do(t, client, aGet), errClosed)
	events, progress := client.Watch(t.Context(), "/x", 0)
	_, open := <-events
	assert.False(t, open)
	assert.ErrorIs(t, progress(t.Context()), errClosed)
}

func TestACallOfACallerWhoIsGoneLeavesTheMemberAlone(t *testing.T) {
	t.Parallel()
	client := newV3(t, Config{Servers: []string{realEtcd(t).URL, downURL(t)}})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, op := range []clientv3.Op{aGet, aPut} {
		_, err := client.Do(gone, op)
		assert.ErrorIs(t, err, context.Canceled)
	}
	assert.Zero(t, client.current.Load())
}

func cluster(t *testing.T) (members []*etcdtest.Server, urls []string) {
	members, err := etcdtest.Setup{Members: 3}.Start(t.TempDir())
	require.NoError(t, err)
	for _, member := range members {
		urls = append(urls, member.URL)
		t.Cleanup(func() { assert.NoError(t, member.Kill()) })
	}
	return members, urls
}

// The member's share is what a test has to wait for; all else may take its time.
func TestAMemberThatHangsCostsAReadItsShareAndAWriteItsOutcome(t *testing.T) {
	t.Parallel()
	members, urls := cluster(t)
	client := newV3(t, Config{Servers: urls})
	put(t, client, "/x", "1")
	require.Zero(t, client.current.Load())
	require.NoError(t, members[0].Pause())

	client.readTimeout = 5 * time.Second
	require.NoError(t, do(t, client, aGet))
	assert.NotZero(t, client.current.Load())

	client.current.Store(0)
	client.callTimeout = 100 * time.Millisecond
	err := do(t, client, clientv3.OpPut("/hung", "1"))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.False(t, Answered(err))
	assert.EqualValues(t, 1, client.current.Load())

	client.current.Store(0)
	events, _ := client.Watch(t.Context(), "/x", 1)
	_, open := <-events
	assert.False(t, open, "no watch has begun")
	assert.EqualValues(t, 1, client.current.Load())

	client.callTimeout = 10 * time.Minute
	put(t, client, "/x", "2")
	events, _ = client.Watch(t.Context(), "/x", 1)
	assert.Equal(t, []string{"/x", "/x"}, keysOf(t, events, 2))
}

// Nobody waits for what its watch shows.
func TestAMemberThatHangsLosesTheWatchThatAsksItForProgress(t *testing.T) {
	t.Parallel()
	members, urls := cluster(t)
	client := newV3(t, Config{Servers: urls})
	put(t, client, "/x", "1")
	require.Zero(t, client.current.Load())
	events, progress := client.Watch(t.Context(), "/x", 0)
	require.NoError(t, members[0].Pause())
	client.readTimeout = 100 * time.Millisecond
	err := progress(t.Context())
	require.Error(t, err)
	assert.NotErrorIs(t, err, ErrEarlyProgress)
	_, open := <-events
	assert.False(t, open)
	assert.EqualValues(t, 1, client.current.Load())
}

func TestWhatAnErrorOfACallSays(t *testing.T) {
	t.Parallel()
	for says, err := range map[string]error{
		"Error while dialing: dial tcp: connection refused": status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp: connection refused"`),
		"it has not answered in time":                       status.Error(codes.DeadlineExceeded, "context deadline exceeded"),
		"error reading from server: EOF":                    status.Error(codes.Unavailable, "error reading from server: EOF"),
		"etcdserver: no leader":                             rpctypes.ErrNoLeader,
		"something else":                                    errors.New("something else"),
	} {
		told := &callError{"http://x", err}
		assert.EqualError(t, told, "etcd at http://x: "+says)
		assert.ErrorIs(t, told, err)
	}
}

// Members die and come back under load. Each key is put once: etcd counts how often it
// was written.
func TestNoWriteIsSentTwiceWhileMembersDie(t *testing.T) {
	t.Parallel()
	members, urls := cluster(t)
	client := newV3(t, Config{Servers: urls})
	const writers, writes = 8, 150
	var unknown sync.Map // keys of writes without an answer
	var group sync.WaitGroup
	halves := make(chan struct{}, writers)
	for writer := range writers {
		group.Go(func() {
			for i := range writes {
				if i == writes/3 {
					halves <- struct{}{}
				}
				key := fmt.Sprintf("/keys/%d-%d", writer, i)
				if err := do(t, client, clientv3.OpPut(key, "1")); err != nil {
					assert.False(t, Answered(err), "%v", err)
					unknown.Store(key, true)
				}
			}
		})
	}
	for range writers {
		<-halves
	}
	for range 2 { // the member that is used, and the next one that is
		member := members[client.current.Load()]
		require.NoError(t, member.Kill())
		require.NoError(t, member.Restart())
		require.NoError(t, member.Ready())
	}
	group.Wait()
	resp, err := client.Do(t.Context(), clientv3.OpGet("/keys/", clientv3.WithPrefix()))
	require.NoError(t, err)
	found := map[string]bool{}
	for _, pair := range resp.Get().Kvs {
		assert.EqualValues(t, 1, pair.Version, "%s", pair.Key)
		found[string(pair.Key)] = true
	}
	for writer := range writers {
		for i := range writes {
			key := fmt.Sprintf("/keys/%d-%d", writer, i)
			if _, lost := unknown.Load(key); !lost {
				assert.True(t, found[key], "%s was acknowledged", key)
			}
		}
	}
}

func TestAWatchEndsWithItsMember(t *testing.T) {
	t.Parallel()
	members, urls := cluster(t)
	client := newV3(t, Config{Servers: urls})
	first := put(t, client, "/dir/a", "1")
	events, _ := client.Watch(t.Context(), "/dir/", first)
	assert.Equal(t, []string{"/dir/a"}, keysOf(t, events, 1))
	require.NoError(t, members[0].Kill())
	resp := <-events
	assert.Error(t, resp.Err())
	_, open := <-events
	assert.False(t, open)
	assert.EqualValues(t, 1, client.current.Load())
	events, _ = client.Watch(t.Context(), "/dir/", first)
	assert.Equal(t, []string{"/dir/a"}, keysOf(t, events, 1))
}
