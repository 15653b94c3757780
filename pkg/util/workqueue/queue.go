// Package workqueue has a queue of keys for the workers of a controller. A key is in the queue once,
// however often it was added, and is never handled by two workers at a time.
package workqueue

import (
	"context"
	"log"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const (
	// A key that fails is retried after a pause that begins with minPause, and doubles with each
	// failure up to maxPause.
	minPause = 10 * time.Millisecond
	maxPause = time.Minute
)

// Sync brings the object of a key to its desired state.
type Sync func(ctx context.Context, key string) error

// Inside returns the work inside what is put around it, such as a trace. Nil: nothing is.
func (work Sync) Inside(around func(Sync) Sync) Sync {
	if around == nil {
		return work
	}
	return around(work)
}

// Queue is a queue of keys. It is safe for concurrent use.
type Queue struct {
	name string
	wake chan struct{} // has a value if there may be a key for a worker that waits

	mu       sync.Mutex // guards what follows
	order    []string
	waiting  map[string]bool // keys in order
	working  map[string]bool // keys that a worker has; true if it was added again
	failures map[string]int
	delayed  map[string]delayed // keys that will be added, each at its earliest time
}

// delayed is when a key is added.
type delayed struct {
	at    time.Time
	timer *time.Timer
}

// New returns an empty queue. The name is for the log.
func New(name string) *Queue {
	return &Queue{name: name, wake: make(chan struct{}, 1), waiting: map[string]bool{}, working: map[string]bool{}, failures: map[string]int{}, delayed: map[string]delayed{}}
}

// Add adds a key, unless it waits already. A key that a worker has is added when that is done.
func (q *Queue) Add(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, isWorking := q.working[key]; isWorking {
		q.working[key] = true
		return
	}
	q.addLocked(key)
}

func (q *Queue) addLocked(key string) {
	if q.waiting[key] {
		return
	}
	q.waiting[key] = true
	q.order = append(q.order, key)
	q.noteLocked()
}

// AddAfter adds a key after a pause. Only the earliest time of a key counts: a Sync that still needs a
// later one must call AddAfter again.
func (q *Queue) AddAfter(key string, pause time.Duration) {
	if pause <= 0 {
		q.Add(key)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.delayLocked(key, pause)
}

func (q *Queue) delayLocked(key string, pause time.Duration) {
	at := time.Now().Add(pause)
	if before, isDelayed := q.delayed[key]; isDelayed {
		if !at.Before(before.at) {
			return
		}
		before.timer.Stop()
	}
	q.delayed[key] = delayed{at, time.AfterFunc(pause, func() { q.addDelayed(key, at) })}
}

// addDelayed adds a key that is due, unless it has been decided otherwise meanwhile.
func (q *Queue) addDelayed(key string, at time.Time) {
	q.mu.Lock()
	isDue := q.delayed[key].at.Equal(at)
	if isDue {
		delete(q.delayed, key)
	}
	q.mu.Unlock()
	if isDue {
		q.Add(key)
	}
}

func (q *Queue) noteLocked() {
	select {
	case q.wake <- struct{}{}:
	default: // the channel has a value already
	}
}

// Run runs workers until the context ends, and waits for them. An error of work, or a panic, is
// logged; the key is retried after a pause that grows with each failure in a row.
func (q *Queue) Run(ctx context.Context, workers int, work Sync) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				key, ok := q.get(ctx)
				if !ok {
					return
				}
				q.done(key, q.call(ctx, key, work))
			}
		})
	}
	group.Wait()
}

// get waits for a key. It returns false when the context has ended.
func (q *Queue) get(ctx context.Context) (key string, ok bool) {
	for ctx.Err() == nil {
		if key, ok := q.next(); ok {
			return key, true
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return "", false
}

func (q *Queue) next() (string, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		return "", false
	}
	key := q.order[0]
	q.order = q.order[1:]
	delete(q.waiting, key)
	q.working[key] = false
	if len(q.order) > 0 { // for the next worker
		q.noteLocked()
	}
	return key, true
}

// call calls work. It reports whether that succeeded.
func (q *Queue) call(ctx context.Context, key string, work Sync) (succeeded bool) {
	defer func() {
		if r := recover(); r != nil {
			log.Printf("%s: %s: panic: %v\n%s", q.name, key, r, debug.Stack())
		}
	}()
	err := work(ctx, key)
	if err != nil && ctx.Err() == nil {
		log.Printf("%s: %s: %s", q.name, key, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return err == nil
}

// done ends the work on a key.
func (q *Queue) done(key string, succeeded bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	again := q.working[key]
	delete(q.working, key)
	if succeeded {
		delete(q.failures, key)
	} else {
		pause := min(minPause<<min(q.failures[key], 20), maxPause)
		q.failures[key]++
		if !again {
			q.delayLocked(key, pause)
		}
	}
	if again {
		q.addLocked(key)
	}
}
