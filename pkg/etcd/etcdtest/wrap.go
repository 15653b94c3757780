package etcdtest

import (
	"errors"
	"sync"

	"github.com/coreos/go-etcd/etcd"
)

// ErrLost is the error of a call that failed on the way: it may or may not have
// taken effect.
var ErrLost = errors.New("the connection to etcd broke")

// Around is a Client whose calls go through Do, which may count them, let them
// fail or leave them out. A call is named by its method and its key.
type Around struct {
	Client Client
	Do     func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error)
}

var _ Client = (*Around)(nil)

func (a *Around) AddChild(key, data string, ttl uint64) (*etcd.Response, error) {
	return a.Do("AddChild", key, func() (*etcd.Response, error) { return a.Client.AddChild(key, data, ttl) })
}

func (a *Around) Get(key string, sort, recursive bool) (*etcd.Response, error) {
	return a.Do("Get", key, func() (*etcd.Response, error) { return a.Client.Get(key, sort, recursive) })
}

func (a *Around) Set(key, value string, ttl uint64) (*etcd.Response, error) {
	return a.Do("Set", key, func() (*etcd.Response, error) { return a.Client.Set(key, value, ttl) })
}

func (a *Around) Create(key, value string, ttl uint64) (*etcd.Response, error) {
	return a.Do("Create", key, func() (*etcd.Response, error) { return a.Client.Create(key, value, ttl) })
}

func (a *Around) Delete(key string, recursive bool) (*etcd.Response, error) {
	return a.Do("Delete", key, func() (*etcd.Response, error) { return a.Client.Delete(key, recursive) })
}

func (a *Around) CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return a.Do("CompareAndSwap", key, func() (*etcd.Response, error) {
		return a.Client.CompareAndSwap(key, value, ttl, prevValue, prevIndex)
	})
}

func (a *Around) CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return a.Do("CompareAndDelete", key, func() (*etcd.Response, error) {
		return a.Client.CompareAndDelete(key, prevValue, prevIndex)
	})
}

func (a *Around) Watch(prefix string, waitIndex uint64, recursive bool, receiver chan *etcd.Response, stop chan bool) (*etcd.Response, error) {
	return a.Do("Watch", prefix, func() (*etcd.Response, error) {
		return a.Client.Watch(prefix, waitIndex, recursive, receiver, stop)
	})
}

// Fate is how a call fails.
type Fate string

const (
	LostBefore  Fate = "the call is lost before it takes effect"
	LostAfter   Fate = "the call takes effect and its answer is lost"
	StopsBefore Fate = "the process stops before the call"
	StopsAfter  Fate = "the process stops after the call"
)

// Faults makes one call fail, or, if the process stops there, that call and all
// later ones. It is safe for concurrent use.
type Faults struct {
	Around

	mu     sync.Mutex // guards what follows
	calls  []string
	fateOf int // the number of the call that fails, from 1
	fate   Fate
}

// NewFaults returns a client that lets every call through until FailAt.
func NewFaults(client Client) *Faults {
	f := &Faults{}
	f.Around = Around{Client: client, Do: f.do}
	return f
}

// FailAt forgets the calls so far and makes the k-th call from now fail.
func (f *Faults) FailAt(k int, fate Fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.fateOf, f.fate = nil, k, fate
}

// Heal lets every call through again, and forgets the calls so far.
func (f *Faults) Heal() { f.FailAt(0, "") }

// Calls returns what was called since FailAt or Heal: method and key.
func (f *Faults) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.calls...)
}

func (f *Faults) do(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
	f.mu.Lock()
	f.calls = append(f.calls, method+" "+key)
	number, fateOf, fate := len(f.calls), f.fateOf, f.fate
	f.mu.Unlock()
	switch {
	case fateOf == 0 || number < fateOf:
		return call()
	case number > fateOf && (fate == LostBefore || fate == LostAfter):
		return call()
	case number == fateOf && (fate == LostAfter || fate == StopsAfter):
		_, _ = call() // the answer is lost
	}
	return nil, ErrLost
}
