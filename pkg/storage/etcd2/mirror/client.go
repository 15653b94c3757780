package mirror

import (
	"errors"
	"slices"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// Client is the part of etcd's v2 keys API that the store uses. Its methods are safe
// for concurrent use and take a bounded time, except Watch, which may wait for a
// minute. Their errors are *etcd.EtcdError if etcd refused; after any other error it
// is unknown whether the call took effect. Reads see all writes that were
// acknowledged before.
type Client interface {
	AddChild(key, data string, ttl uint64) (*etcd.Response, error)
	Get(key string, sort, recursive bool) (*etcd.Response, error)
	Set(key, value string, ttl uint64) (*etcd.Response, error)
	Create(key, value string, ttl uint64) (*etcd.Response, error)
	Delete(key string, recursive bool) (*etcd.Response, error)
	CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error)
	CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error)
	Watch(prefix string, waitIndex uint64, recursive bool, receiver chan *etcd.Response, stop chan bool) (*etcd.Response, error)
}

const (
	// MaxEvents bounds the number of changes that are fetched one by one, for watchers:
	// etcd retains 1,000.
	MaxEvents = 500
	// eventPatience bounds how long a read fetches the changes of other programs one by
	// one; then it reads everything. It also bounds how long a watch waits for each
	// change from before the process began.
	eventPatience = 500 * time.Millisecond
	// extendPatience bounds how long a watch waits for all of these.
	extendPatience = 5 * time.Second
)

// The errors of etcd that the store acts on.
const (
	NotFound      = 100
	CompareFailed = 101
	NotAFile      = 102
	NotADirectory = 104
	AlreadyExists = 105
	FormTooLarge  = 210
)

// HasCode reports whether etcd refused with one of the codes.
func HasCode(err error, codes ...int) bool {
	var refused *etcd.EtcdError
	return errors.As(err, &refused) && slices.Contains(codes, refused.ErrorCode)
}

// Ignore returns nil for an error with one of the codes, and any other error as it is.
func Ignore(err error, codes ...int) error {
	if HasCode(err, codes...) {
		return nil
	}
	return err
}

// Failed turns an error of etcd, or of the connection to it, into an *api.Error;
// nil stays nil. Codes 300 to 399 are the raft protocol's: no leader, or no
// quorum in time.
func Failed(operation string, err error) error {
	var refused *etcd.EtcdError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && (refused.ErrorCode < 300 || refused.ErrorCode >= 400):
		why := refused.Message
		if HasCode(err, NotAFile, NotADirectory) {
			why += " (key " + KeyInWords(refused.Cause) + ")"
		}
		return &api.Error{Kind: api.Internal, Message: operation + ": etcd refused the request: " + why, Err: err}
	}
	return api.NewUnavailable(operation, err)
}
