// Package answers caches what others answer, and asks each question once at a time.
package answers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log"
	"runtime/debug"
	"sync"
	"time"
)

// Cache caches answers for a time. It is bounded, and safe for concurrent use. It stores no
// questions, which may be secrets, only digests of them with a key of its own.
type Cache[V any] struct {
	limit int
	key   [32]byte

	mu      sync.Mutex // guards what follows
	answers map[digest]answer[V]
	calls   map[digest]*call[V]
}

type digest [sha256.Size]byte

type answer[V any] struct {
	value V
	until time.Time
}

// call is a call that several goroutines may wait for.
type call[V any] struct {
	waiting int           // number of waiting goroutines; guarded by the cache
	cancel  func()        // called when no goroutine waits any more
	done    chan struct{} // closed when value and err are set
	value   V
	err     error
}

// New returns a cache of at most limit answers. If it is full, a new answer replaces any other.
func New[V any](limit int) *Cache[V] {
	c := &Cache[V]{limit: limit, answers: map[digest]answer[V]{}, calls: map[digest]*call[V]{}}
	rand.Read(c.key[:]) // never fails
	return c
}

// Do returns the cached answer to a question, or calls ask, whose second result is how long the
// answer is cached. Errors are not cached. Concurrent calls with the same question share one call
// of ask, whose context ends when no goroutine waits any more. Do returns the error of its own
// context when that ends.
func (c *Cache[V]) Do(ctx context.Context, question []byte, ask func(context.Context) (V, time.Duration, error)) (V, error) {
	sum := c.digest(question)
	c.mu.Lock()
	if found, ok := c.answers[sum]; ok {
		if time.Now().Before(found.until) {
			c.mu.Unlock()
			return found.value, nil
		}
		delete(c.answers, sum)
	}
	shared := c.calls[sum]
	if shared == nil {
		// The context of the first goroutine must not end the call of the others.
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		shared = &call[V]{cancel: cancel, done: make(chan struct{})}
		c.calls[sum] = shared
		go c.run(own, sum, shared, ask)
	}
	shared.waiting++
	c.mu.Unlock()

	select {
	case <-shared.done:
		return shared.value, shared.err
	case <-ctx.Done():
		c.leave(sum, shared)
		var none V
		return none, ctx.Err()
	}
}

func (c *Cache[V]) run(ctx context.Context, sum digest, shared *call[V], ask func(context.Context) (V, time.Duration, error)) {
	defer shared.cancel()
	value, ttl, err := guarded(ctx, ask)
	c.mu.Lock()
	defer c.mu.Unlock()
	shared.value, shared.err = value, err
	if err == nil && ttl > 0 {
		for other := range c.answers { // in any order
			if len(c.answers) < c.limit {
				break
			}
			delete(c.answers, other)
		}
		c.answers[sum] = answer[V]{value, time.Now().Add(ttl)}
	}
	c.forgetLocked(sum, shared)
	close(shared.done)
}

// guarded calls ask, and converts a panic to an error.
func guarded[V any](ctx context.Context, ask func(context.Context) (V, time.Duration, error)) (value V, ttl time.Duration, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			log.Printf("panic of who was asked: %v\n%s", reason, debug.Stack())
			err = errors.New("the question failed; the server's log has the reason")
		}
	}()
	return ask(ctx)
}

// leave ends a call when the last waiting goroutine leaves. A later question starts another call.
func (c *Cache[V]) leave(sum digest, shared *call[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if shared.waiting--; shared.waiting == 0 {
		shared.cancel()
		c.forgetLocked(sum, shared)
	}
}

func (c *Cache[V]) forgetLocked(sum digest, shared *call[V]) {
	if c.calls[sum] == shared {
		delete(c.calls, sum)
	}
}

func (c *Cache[V]) digest(question []byte) (sum digest) {
	return sha256.Sum256(append(c.key[:len(c.key):len(c.key)], question...))
}
