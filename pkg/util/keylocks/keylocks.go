// Package keylocks has locks for keys, such as those of objects that many goroutines of a process write.
package keylocks

import (
	"context"
	"sync"
	"time"
)

// Locks has a lock for each key. The zero value is ready. It is safe for concurrent use.
type Locks[Key comparable] struct {
	mu    sync.Mutex
	locks map[Key]*lock
}

type lock struct {
	held  chan struct{} // holds a value while somebody has the lock
	users int           // who have the lock, or wait for it
}

// Lock waits for the lock of a key, until the context ends or its patience does. It reports whether it has the lock. The
// caller must call unlock in any case.
func (l *Locks[Key]) Lock(ctx context.Context, key Key, patience time.Duration) (unlock func(), locked bool) {
	own := l.join(key)
	leave := func() { l.leave(key, own) }
	unlock = func() {
		<-own.held
		leave()
	}
	select { // a free lock needs no patience
	case own.held <- struct{}{}:
		return unlock, true
	default:
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case own.held <- struct{}{}:
		return unlock, true
	case <-late.C:
	case <-ctx.Done():
	}
	return leave, false
}

func (l *Locks[Key]) join(key Key) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.locks[key]
	if own == nil {
		own = &lock{held: make(chan struct{}, 1)}
		if l.locks == nil {
			l.locks = map[Key]*lock{}
		}
		l.locks[key] = own
	}
	own.users++
	return own
}

func (l *Locks[Key]) leave(key Key, own *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(l.locks, key)
	}
}
