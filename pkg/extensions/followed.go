package extensions

import (
	"time"

	"kube2014/pkg/storage"
)

// waitTime bounds how long a change of a definition waits until it is followed, when the store is away.
const waitTime = 10 * time.Second

// wait waits until the changes up to a version are followed.
func (s *Server) wait(version uint64) {
	late := time.NewTimer(waitTime)
	defer late.Stop()
	for {
		s.mu.Lock()
		done, moved := s.version >= version, s.moved
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-moved:
		case <-late.C:
			return
		}
	}
}

// followed is a store whose changes of definitions are acknowledged when this server follows them: the next request obeys
// them. Other servers follow soon.
type followed struct {
	storage.Interface
	server *Server
}

var _ storage.Clock = followed{}

// Commit implements storage.Interface.
func (f followed) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	written, err := f.Interface.Commit(changes...)
	if err == nil && len(written) > 0 && written[0] != nil {
		f.server.wait(written[0].Version())
	}
	return written, err
}

// Now implements storage.Clock.
func (f followed) Now() time.Time { return storage.ClockOf(f.Interface)() }
