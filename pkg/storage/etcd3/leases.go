package etcd3

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

const (
	// Objects get the same lease for this long at most, and for a part of their TTL, by which
	// it is longer than they need: a lease is a write, and one more thing that etcd keeps.
	maxSharing  = time.Minute
	sharingPart = 20
	// maxKeys bounds how many objects have one lease, for etcd deletes them all at once.
	maxKeys = 1000
)

// leases let objects end. Those that are written soon after each other share one.
type leases struct {
	client Client

	mu   sync.Mutex // guards last
	last lease      // that was granted
}

// lease is a lease as this process counts its time: it ends in etcd a little later.
type lease struct {
	id   clientv3.LeaseID
	ttl  time.Duration // of the objects that it is for
	ends time.Time
	keys int
}

// of returns the lease of each object that is to end after the changes.
func (l *leases) of(changes []storage.Change) (of map[api.Key]clientv3.LeaseID, err error) {
	for _, change := range changes {
		at := change.Key
		if change.Action != storage.Write || change.TTL <= 0 {
			if change.Action != storage.Check {
				delete(of, at)
			}
			continue
		}
		if of == nil {
			of = map[api.Key]clientv3.LeaseID{}
		}
		if of[at], err = l.get(change); err != nil {
			return nil, err
		}
	}
	return of, nil
}

// get returns a lease that does not end before the TTL of a change. Nobody waits for the call
// of another one: of those who need a new lease at the same time, each gets its own.
func (l *leases) get(change storage.Change) (clientv3.LeaseID, error) {
	now := time.Now()
	if id, ok := l.share(change.TTL, now); ok {
		return id, nil
	}
	sharing := min(change.TTL/sharingPart, maxSharing)
	granted, err := l.client.Grant(context.Background(), change.TTLSeconds()+int64(sharing/time.Second))
	if err != nil {
		return clientv3.NoLease, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = lease{granted.ID, change.TTL, now.Add(time.Duration(granted.TTL) * time.Second), 1}
	return granted.ID, nil
}

// share returns the last lease, if it is good for one more object with a TTL.
func (l *leases) share(ttl time.Duration, now time.Time) (id clientv3.LeaseID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last.ttl != ttl || l.last.keys >= maxKeys || now.Add(ttl).After(l.last.ends) {
		return clientv3.NoLease, false
	}
	l.last.keys++
	return l.last.id, true
}

// forget lets nobody share the last lease any more: etcd does not have it.
func (l *leases) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = lease{}
}
