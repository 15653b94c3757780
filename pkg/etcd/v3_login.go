package etcd

import (
	"context"
	"errors"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// login is a user and the token that a member has issued for the password. The token expires.
// Nil means no user. clientv3's own login connects before the first call, and retries more
// calls than those whose token is refused.
type login struct {
	user, password string

	turn  chan struct{} // full while a token is requested
	token atomic.Pointer[string]
}

func newLogin(config Config) *login {
	if config.Username == "" {
		return nil
	}
	return &login{user: config.Username, password: config.Password, turn: make(chan struct{}, 1)}
}

// current returns the token, or nil if there never was one.
func (l *login) current() *string {
	if l == nil {
		return nil
	}
	return l.token.Load()
}

// get returns the token, and requests one if there is none.
func (l *login) get(ctx context.Context, client *clientv3.Client) (*string, error) {
	if token := l.current(); token != nil {
		return token, nil
	}
	return l.renew(ctx, client, nil)
}

// renew requests a token, unless another call has replaced the old one already.
func (l *login) renew(ctx context.Context, client *clientv3.Client, old *string) (*string, error) {
	if l == nil {
		return nil, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if token := l.current(); token != old {
		return token, nil
	}
	token := "" // if the etcd needs no user
	answer, err := client.Authenticate(ctx, l.user, l.password)
	if err == nil {
		token = answer.Token
	} else if !errors.Is(err, rpctypes.ErrAuthNotEnabled) {
		return nil, err
	}
	l.token.Store(&token)
	return &token, nil
}

// isTokenRefused reports whether a call was refused, before it took effect, for a reason
// that another token may remove.
func isTokenRefused(err error) bool {
	return errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrUserEmpty) || errors.Is(err, rpctypes.ErrAuthOldRevision)
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (l *login) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if token := l.current(); token != nil && *token != "" {
		return map[string]string{rpctypes.TokenFieldNameGRPC: *token}, nil
	}
	return nil, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (l *login) RequireTransportSecurity() bool { return false }
