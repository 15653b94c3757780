package registry

import (
	"maps"
	"sync"

	"github.com/coreos/go-etcd/etcd"
)

// mirror is a cache of what the registry keeps in etcd. It is read from etcd as
// a whole; then it applies this process's own writes, which all go through it.
// etcd numbers its changes without gaps: as long as the own writes account for
// every number, the cache is up to date. A missing number is another program's
// write and makes the cache stale: it is read again before it is used.
type mirror struct {
	EtcdClient // where calls go

	sync sharedCall[syncPoint]
	load sharedCall[struct{}]

	mu       sync.Mutex // guards what follows
	loaded   bool
	old      bool                  // stale: another program has written
	missed   int                   // reads of single tasks that it could not serve while it was stale
	heard    uint64                // the highest index in an answer of etcd
	known    uint64                // the cache has all changes up to this index
	ahead    map[uint64]*etcd.Node // own changes after a gap, by index; a deletion has no value
	writes   uint64                // how many writes have begun
	inFlight map[uint64]bool       // those that have not ended, by their number
	ended    chan struct{}         // closed when one of them ends

	contents *contents
	lists    map[string]knownList // machine → list that is being written
	reserved map[string]reservation
}

// syncPoint is a moment: etcd's index, and how many writes this process had
// begun.
type syncPoint struct{ index, writes uint64 }

// maxAhead bounds ahead while nobody uses the cache.
const maxAhead = 1000

func makeMirror(client EtcdClient) *mirror {
	m := &mirror{EtcdClient: client, inFlight: map[uint64]bool{}, ended: make(chan struct{}), lists: map[string]knownList{}, reserved: map[string]reservation{}}
	m.forget()
	return m
}

// forget empties the cache. The caller holds the lock, or nobody else has the
// mirror.
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

// follow makes a write and, if it is acknowledged, applies it to the cache.
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

// hear records an index that etcd has answered. The floor is the highest index
// before the call: a lower answer comes from another etcd, or from one that has
// lost its data. Then hear empties the cache and returns true. The caller holds
// the lock.
func (m *mirror) hear(index, floor uint64) (another bool) {
	if another = index < floor; another {
		m.forget()
		m.heard = 0
	}
	m.heard = max(m.heard, index)
	return another
}

// note applies a change of this process to the cache: at once, or when no
// earlier change is missing. The caller holds the lock.
func (m *mirror) note(change *etcd.Node) {
	if change.ModifiedIndex <= m.known {
		return // it was in what was read
	}
	if len(m.ahead) >= maxAhead {
		clear(m.ahead) // the gap makes the cache stale
	}
	m.ahead[change.ModifiedIndex] = change
	m.advance()
}

// advance applies the own changes up to the next gap.
func (m *mirror) advance() {
	for m.loaded && m.ahead[m.known+1] != nil {
		m.known++
		m.contents.apply(m.ahead[m.known], m.lists)
		delete(m.ahead, m.known)
	}
}

// replace makes what was read the cache, and applies the own changes that are
// newer.
func (m *mirror) replace(read *contents, index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.old = false
	if m.loaded && m.known >= index {
		return // own writes have closed the gap: the cache is newer
	}
	m.loaded, m.known, m.contents, m.missed = true, index, read, 0
	maps.DeleteFunc(m.ahead, func(change uint64, _ *etcd.Node) bool { return change <= index })
	m.advance()
}

// state returns a machine as it is in the cache.
func (m *mirror) state(machine string) *machineState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.state(machine)
}

// expectList passes on the entries of a list that is about to be written, so
// that they need not be decoded.
func (m *mirror) expectList(machine, value string, entries []manifestEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists[machine] = knownList{value: value, entries: entries}
}
