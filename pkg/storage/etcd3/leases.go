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
	// Objects share a lease for at most this long, and at most a part of their TTL. The lease is
	// longer than their TTL by that time. Each lease costs a write, and memory in etcd.
	maxSharing  = time.Minute
	sharingPart = 20
	// maxKeys bounds the number of objects of a lease, because etcd deletes them all at once.
	maxKeys = 1000
)

// leases grants leases to objects with a TTL. Objects that are written soon after each other share one.
type leases struct {
	client Client

	mu   sync.Mutex // guards last
	last lease      // the one granted last
}

// lease is a lease with its end by the clock of this process. In etcd it ends a little later.
type lease struct {
	id   clientv3.LeaseID
	ttl  time.Duration // of the objects that it is for
	ends time.Time
	keys int
}

// of returns the lease of each object that has a TTL after the changes.
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

// get returns a lease that does not end before the TTL of a change. Concurrent calls do not wait for
// each other: each of them may get a new lease.
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

// share returns the last lease, if one more object with the TTL may share it.
func (l *leases) share(ttl time.Duration, now time.Time) (id clientv3.LeaseID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last.ttl != ttl || l.last.keys >= maxKeys || now.Add(ttl).After(l.last.ends) {
		return clientv3.NoLease, false
	}
	l.last.keys++
	return l.last.id, true
}

// forget drops the last lease, because etcd no longer has it.
func (l *leases) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = lease{}
}
