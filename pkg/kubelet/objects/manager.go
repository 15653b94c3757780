package objects

import (
	"maps"
	"slices"
	"time"
)

// When a container cannot start because something is missing, that is looked for again after a pause
// that begins with minRetry, and doubles up to maxRetry.
const (
	minRetry = time.Second
	maxRetry = 15 * time.Second
)

// Manager has the objects of a pod, and says when to fetch them. The mutex of the pod's worker guards it.
type Manager struct {
	Objects
	fresh bool          // they were fetched after the last start of a container
	due   time.Time     // when to fetch them; zero for not at all
	pause time.Duration // before the last retry; 0 if the last start has succeeded
}

// HasAll reports whether all is there that containers need to start, or it is known to be missing.
func (m *Manager) HasAll(needed References) bool {
	if len(needed) == 0 && m.pause == 0 {
		return true
	}
	return m.fresh && !slices.ContainsFunc(needed, func(ref Reference) bool {
		_, known := m.Objects[ref]
		return !known
	})
}

// Request lets fetch the objects now, unless that waits for the next try. It reports whether it does.
func (m *Manager) Request(isFirst bool, now time.Time) bool {
	if !m.due.IsZero() && !isFirst {
		return false
	}
	m.due = now
	return true
}

// Due returns when to fetch the objects, the zero time for not at all.
func (m *Manager) Due() time.Time { return m.due }

// Set takes over what was fetched. What volumes have stays if it is gone now.
func (m *Manager) Set(fetched Objects) {
	for ref, before := range m.Objects {
		if now, asked := fetched[ref]; asked && now.Err != nil {
			before.Err = now.Err
			fetched[ref] = before
		}
	}
	m.Objects, m.fresh, m.due = fetched, true, time.Time{}
}

// Started ends a start of containers. All but what volumes have is forgotten: the next start needs it as it is then. After a
// failure, it returns the pause before the next try.
func (m *Manager) Started(ofVolumes References, succeeded bool, now time.Time) (retry time.Duration) {
	m.fresh = false
	maps.DeleteFunc(m.Objects, func(ref Reference, _ Object) bool { return !slices.Contains(ofVolumes, ref) })
	if succeeded {
		m.pause = 0
		return 0
	}
	m.pause = min(max(2*m.pause, minRetry), maxRetry)
	m.due = now.Add(m.pause)
	return m.pause
}
