package etcd3

import "time"

// SetWatchPatience replaces the time that a watch that shows nothing is waited for. It is
// to be called before the first request.
func (s *Store) SetWatchPatience(patience time.Duration) { s.watchPatience = patience }
