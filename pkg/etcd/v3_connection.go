package etcd

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

const (
	// A watch detects that its member hangs by an unanswered ping. etcd allows at most one
	// ping in 5 seconds, gRPC sends at most one in 10.
	pingPeriod = 10 * time.Second
	// The client reconnects to a recovered member within this time.
	reconnectPause = time.Second
)

func (m *member) settings() clientv3.Config {
	config := clientv3.Config{
		Endpoints:            []string{m.url},
		TLS:                  m.v3.security,
		DialKeepAliveTime:    pingPeriod,
		DialKeepAliveTimeout: m.v3.callTimeout,
		MaxCallSendMsgSize:   math.MaxInt32, // etcd has its own limit
		MaxCallRecvMsgSize:   math.MaxInt32,
		// One attempt: clientv3 resends a write after a deadline of the server's.
		MaxUnaryRetries: 1,
		Logger:          zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectPause},
				MinConnectTimeout: m.v3.dialTimeout,
			}),
			grpc.WithNoProxy(), // as for the v2 API
			grpc.WithStatsHandler(sentRecorder{}),
			grpc.WithChainUnaryInterceptor(failFast),
			grpc.WithChainStreamInterceptor(m.stream),
		},
	}
	if m.login != nil {
		config.DialOptions = append(config.DialOptions, grpc.WithPerRPCCredentials(m.login))
	}
	return config
}

// isDown reports whether the last attempt to connect to the member has failed.
func (m *member) isDown() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.client != nil && m.client.ActiveConnection().GetState() == connectivity.TransientFailure
}

// sentKey is the key of a context's value, an *atomic.Bool, that becomes true when
// any part of the call is written to a connection.
type sentKey struct{}

// sentRecorder is a stats.Handler that sets the value of sentKey.
type sentRecorder struct{}

func (sentRecorder) HandleRPC(ctx context.Context, event stats.RPCStats) {
	switch event.(type) {
	case *stats.OutHeader, *stats.OutPayload:
		if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
			sent.Store(true)
		}
	}
}

func (sentRecorder) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (sentRecorder) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (sentRecorder) HandleConn(context.Context, stats.ConnStats)                       {}

// failFast makes a call fail when the member cannot be reached. By default clientv3 waits.
func failFast(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return call(ctx, method, request, reply, conn, append(opts, grpc.WaitForReady(false))...)
}

// stream opens the stream of a watch, with a new token. When the stream breaks, the watch
// ends with the error: clientv3 would reopen it on the same member again and again.
func (m *member) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	client, err := m.open()
	if err != nil {
		return nil, err
	}
	if _, err := m.login.renew(ctx, client, m.login.current()); err != nil {
		return nil, m.broken(err)
	}
	stream, err := open(ctx, desc, conn, method, append(opts, grpc.WaitForReady(false))...)
	if err != nil {
		return nil, m.broken(err)
	}
	return &brittleStream{ClientStream: stream, member: m}, nil
}

// broken converts an error of a stream to one that clientv3 does not retry.
func (m *member) broken(err error) error {
	switch codeOf(err) {
	case codes.Unavailable, codes.Internal:
		m.v3.moveOn(m)
		return status.Error(codes.Aborted, status.Convert(err).Message())
	}
	return err
}

type brittleStream struct {
	grpc.ClientStream
	member *member
}

func (s *brittleStream) RecvMsg(message any) error {
	if err := s.ClientStream.RecvMsg(message); err != nil {
		return s.member.broken(err)
	}
	return nil
}
