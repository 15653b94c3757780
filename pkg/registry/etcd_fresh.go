package registry

import (
	"errors"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// writePatience bounds how long a read waits for own writes that were in flight
// when etcd was asked for its index.
const writePatience = 500 * time.Millisecond

// fresh brings the cache up to date: it then has every change that was
// acknowledged, by any apiserver, before the call.
func (m *mirror) fresh(operation string) error {
	exact, err := m.exact(operation)
	if err != nil || exact {
		return err
	}
	return m.reload(operation)
}

// exact reports whether the cache has all changes that were acknowledged before
// the call. It asks etcd, unless the cache is known to be stale.
func (m *mirror) exact(operation string) (bool, error) {
	if !m.isLoaded() {
		return false, nil
	}
	point, err := m.sync.do(m.ask)
	if err != nil {
		return false, failed(operation, err)
	}
	return m.reaches(point), nil
}

// reach brings the cache up to an index that etcd has just answered, or further.
func (m *mirror) reach(index uint64, operation string) error {
	if m.reaches(m.now(index)) {
		return nil
	}
	return m.reload(operation)
}

// missedTooOften counts a read of one task that the cache cannot serve, and
// reports whether to read everything instead: that costs about as much as
// reading a tenth of the tasks one by one.
func (m *mirror) missedTooOften() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missed++
	return 10*m.missed > m.contents.tasks.byID.length()
}

// reload reads the cache again.
func (m *mirror) reload(operation string) error {
	_, err := m.load.do(m.read)
	return failed(operation, err)
}

// isLoaded reports whether there is a cache that is not known to be stale.
func (m *mirror) isLoaded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded && !m.old
}

// ask asks etcd for its index.
func (m *mirror) ask() (syncPoint, error) {
	floor := m.floor()
	resp, err := m.EtcdClient.Get(syncKey, false, false)
	index, err := indexOf(resp, err)
	if err != nil {
		return syncPoint{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hear(index, floor)
	return syncPoint{index: index, writes: m.writes}, nil
}

func (m *mirror) floor() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heard
}

// indexOf returns the index in an answer, which may be that the key does not
// exist.
func indexOf(resp *etcd.Response, err error) (uint64, error) {
	var refused *etcd.EtcdError
	switch {
	case err == nil:
		return resp.EtcdIndex, nil
	case hasCode(err, notFound) && errors.As(err, &refused):
		return refused.Index, nil
	}
	return 0, err
}

// now returns the moment of an index that etcd has just answered.
func (m *mirror) now(index uint64) syncPoint {
	m.mu.Lock()
	defer m.mu.Unlock()
	return syncPoint{index: index, writes: m.writes}
}

// reaches reports whether the cache has all changes up to a moment. It waits for
// own writes that were in flight then.
func (m *mirror) reaches(point syncPoint) bool {
	var timeout <-chan time.Time
	for {
		reached, waiting, ended := m.progress(point)
		if reached || !waiting {
			return reached
		}
		if timeout == nil {
			timeout = time.After(writePatience)
		}
		select {
		case <-ended:
		case <-timeout:
			m.distrust()
			return false
		}
	}
}

// distrust marks the cache as stale, so that it is read again before it is used.
func (m *mirror) distrust() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.old = true
}

func (m *mirror) progress(point syncPoint) (reached, waiting bool, ended <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for number := range m.inFlight {
		waiting = waiting || number <= point.writes
	}
	reached = m.loaded && m.known >= point.index
	m.old = m.old || (!reached && !waiting)
	return reached, waiting, m.ended
}

// read reads the cache from etcd.
func (m *mirror) read() (struct{}, error) {
	floor, older := m.floor(), m.states()
	resp, err := m.EtcdClient.Get(registryKey, true, true)
	index, err := indexOf(resp, err)
	if err != nil {
		return struct{}{}, err
	}
	m.mu.Lock()
	if m.hear(index, floor) {
		older = nil
	}
	m.mu.Unlock()
	var root *etcd.Node
	if resp != nil {
		root = resp.Node
	}
	m.replace(readContents(root, index, older), index) // others use the old one while this is decoded
	return struct{}{}, nil
}

func (m *mirror) states() map[string]*machineState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.states()
}

// stored returns a task of the cache, and on how many machines it is: 2 for
// more.
func (m *mirror) stored(taskID string) (task *storedTask, places int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.stored(taskID), m.contents.places(taskID)
}

// find returns the machine of a task in the cache, "" when it is not there.
func (m *mirror) find(taskID string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.find(taskID)
}

// carrying returns the tasks in the cache that carry all labels of the query.
func (m *mirror) carrying(query map[string]string) taskRuns {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.tasks.carrying(query)
}

// servicesAt returns the services as of an index that etcd has just answered, if
// the cache reaches it. The caller must not change them.
func (m *mirror) servicesAt(index uint64) ([]api.Service, bool) {
	if !m.reaches(m.now(index)) {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.listServices()
}
