package mirror

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/util"
)

const (
	// writePatience bounds how long a read waits for own writes that were in flight when
	// it requested etcd's version.
	writePatience = 500 * time.Millisecond
	// maxUnwatched bounds the number of changes that are fetched one by one without
	// watchers. Reading objectsPerEvent objects costs about as much as fetching one
	// change: the cheaper way is chosen.
	maxUnwatched    = 16
	objectsPerEvent = 100
	// followPeriod is how often etcd's version is requested while there are watchers.
	followPeriod = 250 * time.Millisecond
)

// Fresh brings the mirror up to date: it then has every change that was acknowledged,
// to any process, before the call.
func (m *Mirror) Fresh(operation string) error {
	version, err := m.sync.Do(m.fetchVersion)
	if err != nil {
		return Failed(operation, err)
	}
	return m.Reach(operation, version)
}

// fetchVersion returns etcd's version. If nothing has been read yet, it reads everything instead.
func (m *Mirror) fetchVersion() (uint64, error) {
	if !m.IsLoaded() {
		return m.readAll()
	}
	_, version, err := m.Read(syncKey, false)
	return version, err
}

// IsLoaded reports whether anything has been read from etcd.
func (m *Mirror) IsLoaded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded
}

// Reach brings the mirror up to at least a version that etcd has just returned.
func (m *Mirror) Reach(operation string, version uint64) error {
	if m.reaches(version) || m.awaitWrites(version) {
		return nil
	}
	m.mu.Lock()
	m.target = max(m.target, version)
	m.mu.Unlock()
	_, err := m.load.Do(m.catchUp)
	return Failed(operation, err)
}

func (m *Mirror) reaches(version uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded && m.version >= version
}

// awaitWrites waits for own writes in flight, which etcd's version may include, and reports
// whether the mirror then reaches a version. If not, another program has made a change.
func (m *Mirror) awaitWrites(version uint64) bool {
	m.mu.Lock()
	writes := slices.Collect(maps.Keys(m.inFlight))
	m.mu.Unlock()
	patience := time.After(writePatience)
	for _, ended := range writes {
		if m.reaches(version) {
			return true
		}
		select {
		case <-ended:
		case <-patience:
			return m.reaches(version)
		}
	}
	return m.reaches(version)
}

// catchUp fetches the changes up to the target, or reads everything.
func (m *Mirror) catchUp() (uint64, error) {
	if m.fetchEvents() {
		return 0, nil
	}
	return m.readAll()
}

// fetchEvents fetches the missing changes one by one from etcd's history. It returns
// false if they are too many, or if that fails: then everything must be read, and
// all watchers are cut off.
func (m *Mirror) fetchEvents() bool {
	missing, target := m.missing()
	if len(missing) == 0 {
		return m.reaches(target)
	}
	patience := m.After(eventPatience)
	for _, version := range missing {
		select {
		case event := <-m.fetchEvent(version):
			if !m.addEvent(event, version) {
				return false
			}
		case <-patience:
			return false
		}
	}
	return m.reaches(target)
}

// missing returns the versions up to the target whose changes are missing: none if
// everything must be read.
func (m *Mirror) missing() (versions []uint64, target uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.loaded {
		return nil, m.target
	}
	most := MaxEvents
	if !m.watched {
		tasks := 0
		for _, machine := range m.machines {
			tasks += len(machine.Tasks)
		}
		most = min(tasks/objectsPerEvent, maxUnwatched)
	}
	for version := m.version + 1; version <= m.target; version++ {
		if m.waiting[version] != nil {
			continue
		}
		if versions = append(versions, version); len(versions) > most {
			return nil, m.target
		}
	}
	return versions, m.target
}

// addEvent applies a change of another program; it returns false if the event is not
// the wanted one, or the mirror cannot apply it.
func (m *Mirror) addEvent(event *etcd.Response, version uint64) bool {
	if !isPlain(event, version) {
		return false
	}
	change := &Change{Key: event.Node.Key, Version: version}
	if !isDeletion(event) {
		change.node = event.Node
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(change)
	return true
}

// readAll reads everything from etcd. Other requests use the cached state meanwhile.
func (m *Mirror) readAll() (uint64, error) {
	root, version, err := m.Read(registryKey, true)
	if err != nil {
		return 0, err
	}
	read := decodeContents(root, version, m.Machines(), m.Objects)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset(read, version)
	return version, nil
}

// Follow delivers the changes of other programs to watchers, until the context ends.
// They receive own changes without it.
func (m *Mirror) Follow(ctx context.Context) {
	for util.Sleep(ctx, followPeriod) {
		m.mu.Lock()
		watched := m.watched
		m.mu.Unlock()
		if watched {
			_ = m.Fresh("follow etcd") // the next round tries again
		}
	}
}

// Watch makes the mirror fetch changes one by one from now on, so that watchers see
// each of them, and makes Follow request them.
func (m *Mirror) Watch() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watched = true
}
