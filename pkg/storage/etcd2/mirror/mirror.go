// Package mirror keeps a copy of the contents of etcd in a process, and keeps it up to date.
package mirror

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/cacher"
	"kube2014/pkg/util"
)

// Mirror holds the contents of etcd. It reads them as a whole; then it applies this
// process's own writes, which all go through it, and the changes of other programs,
// which Fresh fetches. etcd numbers its changes without gaps, so each is applied once,
// in order: the number of the last one is the version. A Mirror is safe for concurrent
// use.
type Mirror struct {
	Client Client
	After  func(time.Duration) <-chan time.Time // as time.After

	sync util.SharedCall[uint64] // fetches etcd's version
	load util.SharedCall[uint64] // catches up with the target

	mu       sync.Mutex             // guards the fields below
	inFlight map[chan struct{}]bool // one for each own write in flight, closed when it ends
	highest  uint64                 // the highest version in an answer of etcd
	target   uint64                 // the highest version that a request waits for
	watched  bool                   // whether there are watchers, which need each change
	state
}

// New returns an empty mirror. It does not call etcd yet.
func New(client Client) *Mirror {
	m := &Mirror{Client: client, After: time.After, inFlight: map[chan struct{}]bool{}, state: state{Objects: cacher.New(0)}}
	m.forget()
	return m
}

// Read returns a key or a whole directory, sorted, and etcd's version. The node is nil
// if it does not exist.
func (m *Mirror) Read(key string, recursive bool) (node *etcd.Node, version uint64, err error) {
	m.mu.Lock()
	floor := m.highest
	m.mu.Unlock()
	resp, err := m.Client.Get(key, recursive, recursive)
	var refused *etcd.EtcdError
	switch {
	case err == nil:
		node, version = resp.Node, resp.EtcdIndex
	case errors.As(err, &refused) && refused.ErrorCode == NotFound:
		version = refused.Index
	default:
		return nil, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(version, floor)
	return node, version, nil
}

// ReadMachine reads the tasks and the list of a machine, as of one moment. Its pods,
// which are stored elsewhere, are not older.
func (m *Mirror) ReadMachine(name string) (*Machine, error) {
	directory, version, err := m.Read(HostKey(name), true)
	if err != nil {
		return nil, Failed("read machine "+name, err)
	}
	cached := m.Machine(name)
	machine := DecodeMachine(name, directory, version, cached, cached.pods())
	if machine.mayHavePods() || len(cached.pods()) > 0 {
		if err := m.Reach("read machine "+name, version); err != nil {
			return nil, err
		}
		cached = m.Machine(name)
		machine = DecodeMachine(name, directory, version, cached, cached.pods())
	}
	machine.Directory = directory
	return machine, nil
}

// Put writes a key that has the expected version: storage.Absent requires that there
// is none, storage.Blind accepts anything.
func (m *Mirror) Put(own *Change, value string, expected uint64) error {
	return m.Write(own, func() (*etcd.Response, error) {
		switch expected {
		case storage.Absent:
			return m.Client.Create(own.Key, value, own.TTL)
		case storage.Blind:
			return m.Client.Set(own.Key, value, own.TTL)
		}
		return m.Client.CompareAndSwap(own.Key, value, own.TTL, "", expected)
	})
}

// Remove deletes a key that has the expected version: storage.Blind, Any and Present
// accept any version.
func (m *Mirror) Remove(key string, expected uint64) error {
	return m.Write(&Change{Key: key}, func() (*etcd.Response, error) {
		if expected >= storage.Blind {
			return m.Client.Delete(key, false)
		}
		return m.Client.CompareAndDelete(key, "", expected)
	})
}

// Write makes an own write and applies it if etcd acknowledges it.
func (m *Mirror) Write(own *Change, call func() (*etcd.Response, error)) error {
	ended := make(chan struct{})
	m.mu.Lock()
	m.inFlight[ended] = true
	floor := m.highest
	m.mu.Unlock()
	var resp *etcd.Response
	var err error
	defer func() { // also when the call ends the goroutine
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.inFlight, ended)
		if resp != nil && err == nil {
			m.acknowledge(own, resp.Node, floor)
		}
		close(ended)
	}()
	resp, err = call()
	return err
}

// acknowledge completes an own change from etcd's answer, and applies it. The caller
// holds the lock.
func (m *Mirror) acknowledge(own *Change, answer *etcd.Node, floor uint64) {
	own.Version = answer.ModifiedIndex
	if own.Object != nil {
		if answer.CreatedIndex != 0 {
			own.Created = answer.CreatedIndex
		}
		own.Written = storage.NewObject(own.Object, own.Version, own.Created)
	}
	m.note(own.Version, floor)
	m.add(own)
}

// note records a version in an answer of etcd. floor is the highest version before
// the request: a lower answer comes from another etcd, or from one that has lost its
// data. The caller holds the lock.
func (m *Mirror) note(version, floor uint64) {
	if version < floor {
		m.forget()
		m.highest, m.target = 0, 0
	}
	m.highest = max(m.highest, version)
}

// Unreadable returns the corrupt values, sorted by key.
func (m *Mirror) Unreadable() []*Stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unreadable()
}

// Copies returns the values under a key of an object: several if other programs have
// put a task on several machines. Corrupt values come first.
func (m *Mirror) Copies(key api.Key) []*Stored {
	m.mu.Lock() // also for Objects: an object may become corrupt, or readable again, meanwhile
	defer m.mu.Unlock()
	copies := slices.DeleteFunc(m.unreadable(), func(s *Stored) bool { return s.Of() != key })
	for _, object := range m.Objects.All(key) {
		copies = append(copies, MakeStored(object))
	}
	return copies
}

// At returns what is stored in the place of an object, nil if nothing is.
func (m *Mirror) At(p Place) *Stored {
	for _, one := range m.Copies(p.Of()) {
		if one.Place == p {
			return one
		}
	}
	return nil
}

// Machines returns all machines, by name. The one with the name "" has the pods without
// a machine.
func (m *Mirror) Machines() map[string]*Machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.machines)
}

// Machine returns a machine, which may be empty.
func (m *Mirror) Machine(name string) *Machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.machine(name)
}
