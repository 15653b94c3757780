package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// V3 calls the members of one etcd cluster through etcd's v3 API: one of them as long as
// it answers, then the next. All calls share one connection to it. It is safe for
// concurrent use.
//
// After an error, Answered reports whether the outcome is known. A call takes at most
// 2.5 seconds.
type V3 struct {
	config      Config
	urls        []string // of the members
	security    *tls.Config
	members     []*member    // one client each: clientv3's own balancer keeps using a member that hangs
	current     atomic.Int32 // the member that answered last
	callTimeout time.Duration
	readTimeout time.Duration // of one member: a read may be tried on each
	dialTimeout time.Duration // likewise
}

// NewV3 returns a client of etcd's v3 API. It does not connect. An error is a
// *ConfigError.
func NewV3(config Config) (*V3, error) {
	urls, security, err := config.read()
	if err != nil {
		return nil, err
	}
	n := time.Duration(len(urls))
	c := &V3{config: config, urls: urls, security: security,
		callTimeout: callTimeout, readTimeout: callTimeout / n, dialTimeout: dialTimeout / n}
	for i, url := range urls {
		c.members = append(c.members, &member{v3: c, index: int32(i), url: url, login: newLogin(config)})
	}
	return c, nil
}

// SetTimeout sets the timeout of connecting and of each call to a member, so that tests
// do not depend on the speed of a machine. It must be called before the first call.
func (c *V3) SetTimeout(timeout time.Duration) {
	c.dialTimeout, c.readTimeout = timeout, timeout
	c.callTimeout = timeout * time.Duration(len(c.members))
}

// Close ends the connections, and the watches on them. Later calls fail.
func (c *V3) Close() {
	for _, member := range c.members {
		member.close()
	}
}

// Do executes one operation. A read is tried on each member. A write goes to the next member
// only if nothing of it was sent to the last one.
func (c *V3) Do(ctx context.Context, op clientv3.Op) (resp clientv3.OpResponse, err error) {
	err = c.try(ctx, isRead(op), func(ctx context.Context, client *clientv3.Client) (err error) {
		resp, err = client.Do(ctx, op)
		return err
	})
	return resp, err
}

// Grant creates a lease of at least a number of seconds. It is tried on each member: an unused
// lease expires by itself.
func (c *V3) Grant(ctx context.Context, seconds int64) (granted *clientv3.LeaseGrantResponse, err error) {
	err = c.try(ctx, true, func(ctx context.Context, client *clientv3.Client) (err error) {
		granted, err = client.Grant(ctx, seconds)
		return err
	})
	return granted, err
}

// isRead reports whether an operation cannot write.
func isRead(op clientv3.Op) bool {
	if !op.IsTxn() {
		return op.IsGet()
	}
	_, thens, elses := op.Txn()
	return !slices.ContainsFunc(slices.Concat(thens, elses), func(op clientv3.Op) bool { return !isRead(op) })
}

type v3Call func(context.Context, *clientv3.Client) error

func (c *V3) try(ctx context.Context, read bool, call v3Call) error {
	bounded, cancel := context.WithTimeout(ctx, c.callTimeout)
	defer cancel()
	first := c.current.Load()
	for i := 0; ; i++ {
		member := c.members[(int(first)+i)%len(c.members)]
		last := i == len(c.members)-1
		if !last && member.isDown() {
			continue
		}
		sent, err := member.call(bounded, read, call)
		switch {
		case Answered(err):
			c.current.CompareAndSwap(first, member.index)
			return err
		case errors.Is(ctx.Err(), context.Canceled): // not the member's fault
			return err
		case last, sent && !read:
			c.current.CompareAndSwap(first, (member.index+1)%int32(len(c.members)))
			return &callError{member.url, err}
		}
	}
}

// callError is the error of a call to a member.
type callError struct {
	url string
	err error
}

// Error returns the message without gRPC's wrapping.
func (e *callError) Error() string {
	message := status.Convert(e.err).Message()
	if _, inner, ok := strings.Cut(message, `desc = "`); ok {
		message = strings.TrimSuffix(strings.TrimPrefix(inner, "transport: "), `"`)
	}
	if errors.Is(e.err, context.DeadlineExceeded) || status.Code(e.err) == codes.DeadlineExceeded {
		message = "it has not answered in time"
	}
	return "etcd at " + e.url + ": " + message
}

// Unwrap returns the error of clientv3.
func (e *callError) Unwrap() error { return e.err }

// moveOn makes later calls begin at the next member.
func (c *V3) moveOn(from *member) {
	c.current.CompareAndSwap(from.index, (from.index+1)%int32(len(c.members)))
}

// Answered reports whether a call has ended with etcd's final answer: with no error, or
// with a refusal, such as for a lack of space, a permission or a compacted revision. After
// any other error the outcome is unknown: a read can be retried, a write may have taken
// effect.
func Answered(err error) bool {
	switch codeOf(err) {
	case codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied,
		codes.ResourceExhausted, codes.FailedPrecondition, codes.OutOfRange, codes.Unauthenticated:
		return true
	}
	return false
}

func codeOf(err error) codes.Code {
	if known, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		return known.Code()
	}
	return status.Code(err)
}

// member is one member of the cluster.
type member struct {
	v3    *V3
	index int32
	url   string
	login *login // nil without a user

	mu     sync.Mutex // guards the fields below
	client *clientv3.Client
	closed bool
}

var errClosed = errors.New("the client of etcd is closed")

// open returns the client of the member. It does not wait for a connection.
func (m *member) open() (*clientv3.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	if m.client == nil {
		client, err := clientv3.New(m.settings())
		if err != nil {
			return nil, err
		}
		m.client = client
	}
	return m.client, nil
}

func (m *member) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.client != nil {
		_ = m.client.Close() // the error only says that its context has ended
	}
}

// call calls the member. It reports whether any part of the call was sent that the
// member has not refused.
func (m *member) call(ctx context.Context, read bool, call v3Call) (sent bool, err error) {
	client, err := m.open()
	if err != nil {
		return false, err
	}
	share, cancel := context.WithTimeout(ctx, m.v3.readTimeout)
	defer cancel()
	if read {
		ctx = share
	}
	token, err := m.login.get(share, client)
	if err != nil {
		return false, err
	}
	for try := 1; ; try++ {
		written := &atomic.Bool{}
		err = call(context.WithValue(ctx, sentKey{}, written), client)
		if try == 3 || !isTokenRefused(err) {
			return written.Load(), err
		}
		if token, err = m.login.renew(share, client, token); err != nil {
			return false, err
		}
	}
}
