package request

import (
	"context"

	"kube2014/pkg/auth/user"
)

// Record is what the chain knows of a request. The handlers of the chain fill it in, one after
// the other; those behind it only read it.
type Record struct {
	Info *Info
	User *user.Info
}

// recorded is a context with a record: one of its own, because context.WithValue would make two
// objects more for each request.
type recorded struct {
	context.Context
	record Record
	info   Info // the record's, unless it is another one's
}

type recordKey struct{}

// Value implements context.Context.
func (r *recorded) Value(key any) any {
	if key == (recordKey{}) {
		return &r.record
	}
	return r.Context.Value(key)
}

// WithInfo returns a context with a record that knows what its request asks for.
func WithInfo(ctx context.Context, info Info) context.Context {
	r := &recorded{Context: ctx, info: info}
	r.record.Info = &r.info
	return r
}

// WithUser returns a context with a record that knows who sends its request, and what else ctx
// knows.
func WithUser(ctx context.Context, who *user.Info) context.Context {
	return &recorded{Context: ctx, record: Record{Info: InfoFrom(ctx), User: who}}
}

// RecordOf returns the record of a context, nil if there is none.
func RecordOf(ctx context.Context) *Record {
	record, _ := ctx.Value(recordKey{}).(*Record)
	return record
}

// InfoFrom returns what the request of a context asks for, nil if nobody has said so.
func InfoFrom(ctx context.Context) *Info {
	if record := RecordOf(ctx); record != nil {
		return record.Info
	}
	return nil
}

// UserFrom returns who sends the request of a context. Without authentication that is the
// user of the insecure port.
func UserFrom(ctx context.Context) *user.Info {
	if record := RecordOf(ctx); record != nil && record.User != nil {
		return record.User
	}
	return unsecured
}

var unsecured = &user.Info{Name: user.Unsecured, Groups: []string{user.Masters, user.AllAuthenticated}}
