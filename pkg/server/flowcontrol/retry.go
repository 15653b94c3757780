package flowcontrol

import (
	"sync"
	"time"
)

// mostRetryAfter bounds after how many seconds a client is told to try again.
const mostRetryAfter = 32

// retryAfter tells clients when to try again: in proportion to how many are refused. It is safe for concurrent use.
type retryAfter struct {
	mu      sync.Mutex
	seconds int64 // the answer; 0 before the first one
	latest  int64 // second in which somebody was refused
	doubled int64 // second in which the answer was doubled
	refused [mostRetryAfter + 1]struct{ second, count int64 }
}

// next counts a refused request, and returns the seconds that it is told. They are doubled if three a second were refused in the time of
// the last answer, and one less if there was not one a second, once in each second.
func (r *retryAfter) next() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now().Unix()
	if r.seconds == 0 {
		r.seconds, r.latest = 1, now
	}
	if now != r.latest {
		r.latest = now
		lately := int64(0)
		for _, then := range r.refused {
			if then.second >= now-r.seconds && then.second < now {
				lately += then.count
			}
		}
		switch {
		case now-r.doubled >= r.seconds && lately >= 3*r.seconds:
			r.seconds, r.doubled = min(2*r.seconds, mostRetryAfter), now
		case lately < r.seconds && r.seconds > 1:
			r.seconds--
		}
	}
	at := &r.refused[now%int64(len(r.refused))]
	if at.second != now {
		at.second, at.count = now, 0
	}
	at.count++
	return r.seconds
}
