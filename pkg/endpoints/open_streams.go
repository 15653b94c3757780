package endpoints

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxWatchTime bounds the duration of a watch: without events, the server may not notice that the client has gone.
const maxWatchTime = time.Hour

// watches are the open watches of a server. It is safe for concurrent use.
type watches struct {
	serving context.Context // ends when all watches must end
	endAll  context.CancelFunc
	open    atomic.Int64
}

// EndWatches ends all present and future watches of all servers at once.
func (c *Config) EndWatches() { c.watches.endAll() }

// openStream counts an open stream until release is called. The error is a 429 if there are too many.
func (s *Server) openStream() (release func(), err error) {
	if s.watches.open.Add(1) > s.MaxWatches {
		s.watches.open.Add(-1)
		return nil, apierrors.NewTooManyRequests("too many watches are open, please try again later", 1)
	}
	return func() { s.watches.open.Add(-1) }, nil
}

// watchTimeout bounds how long a write waits for the client of a watch. It is shorter while the server is
// ending, which waits for the write.
func (s *Server) watchTimeout() time.Duration {
	if s.watches.serving.Err() != nil {
		return s.WriteTimeout / 10
	}
	return s.WriteTimeout
}

// watchTime returns the duration of a watch: the client's, or a random one, so that watches that began
// together do not end together.
func (s *Server) watchTime(seconds *int64) time.Duration {
	if seconds == nil || *seconds == 0 {
		return s.MinWatchTime + rand.N(max(s.MinWatchTime, 1))
	}
	return time.Duration(min(*seconds, int64(maxWatchTime/time.Second))) * time.Second
}
