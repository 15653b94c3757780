package request

import (
	"context"
	"net/http"
	"time"

	"kube2014/pkg/auth/user"
)

// Record is the data of the chain about a request. The handlers of the chain fill it in, one after
// the other; handlers behind the chain only read it.
type Record struct {
	Info     RequestInfo
	Server   Server // that answers the request
	Row      any    // of the resource in the server's catalog, nil for none
	IsToday  bool   // Info is that of today's API
	User     *user.Info
	Received time.Time
	Observer Observer // nil for none
	// Begun is called when a watch has begun: from then on it waits for changes. It may be called again, and is nil if nobody waits for it.
	Begun func()
	// Authorize returns an error if the user may not do to the object of the request what a verb says: an update may create it,
	// and to execute a command by GET, as browsers must, needs the verb of a POST.
	// It is nil if everybody may do everything.
	Authorize func(verb string) error
}

// Today returns the info of a request to today's API. It is parsed once.
func (r *Record) Today(req *http.Request) *RequestInfo {
	if !r.IsToday {
		r.Info, r.IsToday = NewRequestInfo(req), true
	}
	return &r.Info
}

// Server is a server that a request can be for.
type Server interface {
	http.Handler
	// Serves reports whether a request is for the server. Then it completes the record.
	Serves(req *http.Request, record *Record) bool
	// Fail answers a request of the server that may not be served, or has panicked, with an error.
	Fail(w http.ResponseWriter, req *http.Request, err error)
}

// Observer receives details of a request while it is served, for the audit. It is for one goroutine
// at a time.
type Observer interface {
	// RequestObject receives the object or the patch in the body: JSON as bytes or a string, or a
	// value that encoding/json can encode. The caller must not change the bytes afterwards.
	RequestObject(object any)
	// ResponseObject receives a function that returns the JSON of the answer, which has another form or is compressed. It may be
	// called after the answer has been written.
	ResponseObject(inJSON func() []byte)
	// ActsAs receives the impersonated user.
	ActsAs(who *user.Info)
	// Annotate receives the reason of a decision. Keys are those of today's server. The first
	// value of a key stays.
	Annotate(key, value string)
}

// Begun tells that a watch has begun.
func Begun(ctx context.Context) {
	if record := RecordOf(ctx); record != nil && record.Begun != nil {
		record.Begun()
	}
}

// ObserverFrom returns the observer of a request, one that does nothing if there is none.
func ObserverFrom(ctx context.Context) Observer {
	if record := RecordOf(ctx); record != nil && record.Observer != nil {
		return record.Observer
	}
	return nobody{}
}

type nobody struct{}

func (nobody) RequestObject(any)            {}
func (nobody) ResponseObject(func() []byte) {}
func (nobody) ActsAs(*user.Info)            {}
func (nobody) Annotate(string, string)      {}

// Context is a context with a record. It is a type of its own because context.WithValue would allocate two
// more objects for each request.
type Context struct {
	context.Context
	Record Record
}

type recordKey struct{}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	if key == (recordKey{}) {
		return &c.Record
	}
	return c.Context.Value(key)
}

// RecordOf returns the record of a context, nil if there is none.
func RecordOf(ctx context.Context) *Record {
	record, _ := ctx.Value(recordKey{}).(*Record)
	return record
}

// UserFrom returns the user of a request. Without authentication that is the user of the insecure
// port.
func UserFrom(ctx context.Context) *user.Info {
	if record := RecordOf(ctx); record != nil && record.User != nil {
		return record.User
	}
	return unsecured
}

var unsecured = &user.Info{Name: user.Unsecured, Groups: []string{user.Masters, user.AllAuthenticated}}
