package registry

import (
	"maps"
	"sync"

	"github.com/coreos/go-etcd/etcd"
)

// mirror is a copy of what the registry keeps in etcd. It is read from there as a
// whole, and from then on it follows this process's own writes, which all go
// through it. etcd counts its changes, one by one: as long as the own writes
// account for all of them the copy is exact; a number that is missing is
// another program's change, and the copy is read anew before it is used again.
type mirror struct {
	EtcdClient // where calls go

	sync sharedCall[syncPoint]
	load sharedCall[struct{}]

	mu       sync.Mutex // guards what follows
	loaded   bool
	old      bool                  // another program has written since
	missed   int                   // how many reads it could not serve because it is old
	heard    uint64                // the highest index that etcd has told
	known    uint64                // the copy is etcd after this change
	ahead    map[uint64]*etcd.Node // own changes beyond; a deletion is a node without a value
	writes   uint64                // how many writes have begun
	inFlight map[uint64]bool       // those that have not ended, by their number
	ended    chan struct{}         // closed when one of them ends

	contents *contents
	lists    map[string]knownList // machine → list that is being written
	reserved map[string]reservation
}

// syncPoint is a moment: etcd had made so many changes, and the process begun so
// many writes.
type syncPoint struct{ index, writes uint64 }

// maxAhead bounds what is remembered while nobody uses the copy.
const maxAhead = 1000

func makeMirror(client EtcdClient) *mirror {
	m := &mirror{EtcdClient: client, inFlight: map[uint64]bool{}, ended: make(chan struct{}), lists: map[string]knownList{}, reserved: map[string]reservation{}}
	m.forget()
	return m
}

// forget empties the copy. The lock is held, or nobody else has the mirror.
func (m *mirror) forget() {
	m.loaded, m.old, m.known = false, false, 0
	m.ahead = map[uint64]*etcd.Node{}
	m.contents = makeContents()
}

func (m *mirror) Set(key, value string, ttl uint64) (*etcd.Response, error) {
	return m.follow(value, func() (*etcd.Response, error) { return m.EtcdClient.Set(key, value, ttl) })
}

func (m *mirror) Create(key, value string, ttl uint64) (*etcd.Response, error) {
	return m.follow(value, func() (*etcd.Response, error) { return m.EtcdClient.Create(key, value, ttl) })
}

func (m *mirror) Delete(key string, recursive bool) (*etcd.Response, error) {
	return m.follow("", func() (*etcd.Response, error) { return m.EtcdClient.Delete(key, recursive) })
}

func (m *mirror) CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return m.follow(value, func() (*etcd.Response, error) {
		return m.EtcdClient.CompareAndSwap(key, value, ttl, prevValue, prevIndex)
	})
}

func (m *mirror) CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return m.follow("", func() (*etcd.Response, error) { return m.EtcdClient.CompareAndDelete(key, prevValue, prevIndex) })
}

// follow does a write and, if it is acknowledged, does it to the copy.
func (m *mirror) follow(value string, write func() (*etcd.Response, error)) (resp *etcd.Response, err error) {
	number, floor := m.begin()
	defer func() { // also when the write ends the goroutine
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.inFlight, number)
		if resp != nil && err == nil {
			changed := *resp.Node
			changed.Value = value // the answer need not repeat it
			m.hear(changed.ModifiedIndex, floor)
			m.note(&changed)
		}
		close(m.ended)
		m.ended = make(chan struct{})
	}()
	return write()
}

// begin numbers a write. No answer to it can have an index below the floor.
func (m *mirror) begin() (number, floor uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	m.inFlight[m.writes] = true
	return m.writes, m.heard
}

// hear takes notice of an index that etcd has told. When it is below the floor,
// which is what had been heard before etcd was asked, this is another etcd, or it
// has lost its data: the copy is emptied, and hear returns true. The lock is held.
func (m *mirror) hear(index, floor uint64) (another bool) {
	if another = index < floor; another {
		m.forget()
		m.heard = 0
	}
	m.heard = max(m.heard, index)
	return another
}

// note does a change of this process to the copy: at once, or when those before it
// are there. The lock is held.
func (m *mirror) note(change *etcd.Node) {
	if change.ModifiedIndex <= m.known {
		return // it was in what was read
	}
	if len(m.ahead) >= maxAhead {
		clear(m.ahead) // what is missing will be found to be
	}
	m.ahead[change.ModifiedIndex] = change
	m.advance()
}

// advance does the changes that nothing is missing before.
func (m *mirror) advance() {
	for m.loaded && m.ahead[m.known+1] != nil {
		m.known++
		m.contents.apply(m.ahead[m.known], m.lists)
		delete(m.ahead, m.known)
	}
}

// replace makes what was read the copy, and does the own changes that are newer.
func (m *mirror) replace(read *contents, index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.old = false
	if m.loaded && m.known >= index {
		return // own writes have closed the gap meanwhile: the copy is newer
	}
	m.loaded, m.known, m.contents, m.missed = true, index, read, 0
	maps.DeleteFunc(m.ahead, func(change uint64, _ *etcd.Node) bool { return change <= index })
	m.advance()
}

// state returns what is known of a machine.
func (m *mirror) state(machine string) *machineState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.state(machine)
}

// expectList says what is in a list that is about to be written.
func (m *mirror) expectList(machine, value string, entries []manifestEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists[machine] = knownList{value: value, entries: entries}
}
