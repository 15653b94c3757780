package request

import (
	"context"

	"kube2014/pkg/auth/user"
)

type key int

const (
	infoKey key = iota
	userKey
)

// WithInfo returns a context that knows what its request asks for.
func WithInfo(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, infoKey, info)
}

// InfoFrom returns what the request of a context asks for, nil if nobody has said so.
func InfoFrom(ctx context.Context) *Info {
	info, _ := ctx.Value(infoKey).(*Info)
	return info
}

// WithUser returns a context that knows who sends its request.
func WithUser(ctx context.Context, who *user.Info) context.Context {
	return context.WithValue(ctx, userKey, who)
}

// UserFrom returns who sends the request of a context. Without authentication that is the
// user of the insecure port.
func UserFrom(ctx context.Context) *user.Info {
	if who, ok := ctx.Value(userKey).(*user.Info); ok {
		return who
	}
	return unsecured
}

var unsecured = &user.Info{Name: user.Unsecured, Groups: []string{user.Masters, user.AllAuthenticated}}
