package registry

import (
	"errors"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// writePatience bounds how long the copy waits for own writes that were sent
// before etcd was asked how far it is.
const writePatience = 500 * time.Millisecond

// fresh brings the copy up to date: it holds all changes that were acknowledged,
// to whomever, before the call.
func (m *mirror) fresh(operation string) error {
	exact, err := m.exact(operation)
	if err != nil || exact {
		return err
	}
	return m.reload(operation)
}

// exact tells whether the copy holds all changes that were acknowledged before
// the call. It asks etcd, unless the copy is known to be old.
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

// reach brings the copy to an index that etcd has just told, or further.
func (m *mirror) reach(index uint64, operation string) error {
	if m.reaches(m.now(index)) {
		return nil
	}
	return m.reload(operation)
}

// missedTooOften counts a read of one task that the copy cannot serve, and tells
// whether it is time to read all anew: that costs about as much as to read a tenth
// of the tasks one by one.
func (m *mirror) missedTooOften() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missed++
	return 10*m.missed > m.contents.tasks.byID.length()
}

// reload makes the copy anew.
func (m *mirror) reload(operation string) error {
	_, err := m.load.do(m.read)
	return failed(operation, err)
}

// isLoaded tells whether there is a copy that is not known to be old.
func (m *mirror) isLoaded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded && !m.old
}

// ask asks etcd how far it is.
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

// indexOf returns the index that comes with an answer, be it that the key is not
// there.
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

// now is the moment of an index that was just heard of.
func (m *mirror) now(index uint64) syncPoint {
	m.mu.Lock()
	defer m.mu.Unlock()
	return syncPoint{index: index, writes: m.writes}
}

// reaches tells whether the copy holds all changes up to a moment. It waits for
// the own writes of that time.
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

// distrust makes sure that the copy is not asked again until it has been read anew.
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

// read makes the copy anew.
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

// stored returns a task of the copy and in how many places it is: 2 for more.
func (m *mirror) stored(taskID string) (task *storedTask, places int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.stored(taskID), m.contents.places(taskID)
}

// find returns the machine of a task in the copy, "" when it is not there.
func (m *mirror) find(taskID string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.find(taskID)
}

// carrying returns the tasks in the copy that carry all labels of the query.
func (m *mirror) carrying(query map[string]string) taskRuns {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.tasks.carrying(query)
}

// servicesAt returns the services as of an index that etcd has just told, if the
// copy reaches it. They are not to be changed.
func (m *mirror) servicesAt(index uint64) ([]api.Service, bool) {
	if !m.reaches(m.now(index)) {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.listServices()
}
