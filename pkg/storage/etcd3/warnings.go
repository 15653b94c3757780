package etcd3

import (
	"log"

	"kube2014/pkg/api"
)

// unreadable returns all corrupt objects. It logs each version once.
func (s *Store) unreadable(now *state) []*broken {
	unreadable := now.unreadable()
	if len(unreadable) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	warned := map[string]uint64{}
	for _, bad := range unreadable {
		what := bad.err.Error() // it names the key
		if s.warned[what] != bad.version {
			log.Printf("etcd: %s", api.Printable(api.InFull(bad.err), '?'))
		}
		warned[what] = bad.version
	}
	s.warned = warned
	return unreadable
}
