package registry

import (
	"log"
	"sync"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// EtcdClient is what the registry uses of etcd's v2 keys API. Its methods are
// called from many goroutines at once and take a bounded time. Their errors are
// *etcd.EtcdError when etcd refused; after any other error nobody knows whether
// the call took effect. Reads see all writes that were acknowledged before.
type EtcdClient interface {
	AddChild(key, data string, ttl uint64) (*etcd.Response, error)
	Get(key string, sort, recursive bool) (*etcd.Response, error)
	Set(key, value string, ttl uint64) (*etcd.Response, error)
	Create(key, value string, ttl uint64) (*etcd.Response, error)
	Delete(key string, recursive bool) (*etcd.Response, error)
	CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error)
	CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error)
	// Watch waits for a change. The registry itself does not watch.
	Watch(prefix string, waitIndex uint64, recursive bool, receiver chan *etcd.Response, stop chan bool) (*etcd.Response, error)
}

// EtcdRegistry keeps tasks, controllers and services in etcd, under the
// original's keys. Any number of apiservers may share one etcd. It is safe for
// concurrent use; docs/etcd.md has the order of its writes, and why a crash
// between any two is harmless.
type EtcdRegistry struct {
	mirror  *mirror
	writers listWriters
	texts   listTexts

	now   func() time.Time
	sleep func(time.Duration)
	after func(time.Duration) <-chan time.Time

	mu          sync.Mutex           // guards what follows
	warned      map[string]uint64    // key → modified index of the value that was warned of
	warnedSince time.Time            // when that was empty
	odd         map[finding]sighting // what Reconcile saw that may yet be in progress
}

var (
	_ TaskRegistry       = (*EtcdRegistry)(nil)
	_ HostPortIndex      = (*EtcdRegistry)(nil)
	_ EndpointSelector   = (*EtcdRegistry)(nil)
	_ TaskEncoder        = (*EtcdRegistry)(nil)
	_ ControllerRegistry = (*EtcdRegistry)(nil)
	_ ServiceRegistry    = (*EtcdRegistry)(nil)
	_ EndpointsLister    = (*EtcdRegistry)(nil)
)

// MakeEtcdRegistry returns a registry on etcd. The machines, a parameter of the
// original, are not used: every machine that has keys is read, so that a task
// stays visible when its machine is no longer in -machines.
func MakeEtcdRegistry(client EtcdClient, machines []string) *EtcdRegistry {
	mirror := makeMirror(client)
	registry := &EtcdRegistry{
		mirror:  mirror,
		writers: listWriters{machines: map[string]*listWriter{}},
		now:     time.Now,
		sleep:   time.Sleep,
		after:   time.After,
		warned:  map[string]uint64{},
		odd:     map[finding]sighting{},
	}
	registry.texts.sweep = func() bool { return mirror.carrying(nil).sweep() }
	return registry
}

// SetClock lets the registry take the time from another clock than the system's:
// tests do not depend on how fast a machine is. It is to be called before the
// first request.
func (registry *EtcdRegistry) SetClock(now func() time.Time, after func(time.Duration) <-chan time.Time) {
	registry.now, registry.after = now, after
}

// Healthz returns an api.Unavailable error when etcd does not answer. When it
// does, the warnings name each key that cannot be read, one line a key.
func (registry *EtcdRegistry) Healthz() (warnings []string, err error) {
	if err := registry.mirror.fresh("health check"); err != nil {
		return nil, err
	}
	for _, key := range registry.warnOfUnreadable() {
		warnings = append(warnings, key.err.Error())
	}
	if index, err := registry.misplacedIndex(); err != nil {
		return nil, err
	} else if index != nil {
		warnings = append([]string{index.err.Error()}, warnings...)
	}
	return warnings, nil
}

// misplacedIndex returns the index if it is a value, which stops all writes of
// tasks: it is hidden, so that the copy does not show it.
func (registry *EtcdRegistry) misplacedIndex() (*unreadableKey, error) {
	_, err := registry.mirror.Get(indexEntryKey("_none"), false, false)
	if !hasCode(err, notADirectory) {
		return nil, failed("health check", ignore(err, notFound))
	}
	index, err := registry.readKey("health check", indexKey)
	return misplacedDirectory(index), err
}

const (
	// maxWarned bounds how many values are logged in a warnPeriod.
	maxWarned  = 1000
	warnPeriod = time.Hour
)

// warnOnce logs that a value is not what it should be: once for each value in a
// warnPeriod.
func (registry *EtcdRegistry) warnOnce(node *etcd.Node, what string) {
	if registry.toWarn(node) {
		log.Printf("etcd key %s: %s", keyInWords(node.Key), api.Printable(what, '?'))
	}
}

func (registry *EtcdRegistry) toWarn(node *etcd.Node) bool {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.warned[node.Key] == node.ModifiedIndex {
		return false
	}
	if now := registry.now(); now.Sub(registry.warnedSince) >= warnPeriod {
		clear(registry.warned)
		registry.warnedSince = now
	}
	if len(registry.warned) >= maxWarned {
		return false
	}
	registry.warned[node.Key] = node.ModifiedIndex
	return true
}
