package request

import (
	"context"
	"time"

	"kube2014/pkg/auth/user"
)

// Record is what the chain knows of a request. The handlers of the chain fill it in, one after
// the other; those behind it only read it.
type Record struct {
	Info     *Info
	User     *user.Info
	Received time.Time
	Observer Observer // nil if nobody observes the request
}

// Observer is told what a request is about while it is served, for the audit. It is for one goroutine
// at a time.
type Observer interface {
	// RequestObject is told the object or the patch in the body: as bytes or a
	// string that are JSON, or as a value that has a form in JSON. Bytes are not changed afterwards.
	RequestObject(object any)
	// ActsAs is told on behalf of whom the request is served.
	ActsAs(who *user.Info)
	// Annotate is told why something was decided. Keys are those of today's server. The first
	// value of a key stays.
	Annotate(key, value string)
}

// ObserverFrom returns who observes the request of a context: nobody, if it is not observed.
func ObserverFrom(ctx context.Context) Observer {
	if record := RecordOf(ctx); record != nil && record.Observer != nil {
		return record.Observer
	}
	return nobody{}
}

type nobody struct{}

func (nobody) RequestObject(any)       {}
func (nobody) ActsAs(*user.Info)       {}
func (nobody) Annotate(string, string) {}

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
	r.record.Info, r.record.Received = &r.info, time.Now()
	return r
}

// WithUser returns a context with a record that knows who sends its request, and what else ctx
// knows.
func WithUser(ctx context.Context, who *user.Info) context.Context {
	r := &recorded{Context: ctx}
	if known := RecordOf(ctx); known != nil {
		r.record = *known
	}
	r.record.User = who
	return r
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
