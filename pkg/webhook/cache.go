package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log"
	"runtime/debug"
	"sync"
	"time"
)

// Cache keeps answers for a time. It is bounded, and safe for concurrent use. It does not keep
// what was asked, only a digest that tells nothing without a key of this cache.
type Cache[V any] struct {
	limit int
	key   [32]byte

	mu    sync.Mutex // guards what follows
	kept  map[digest]kept[V]
	calls map[digest]*call[V]
}

type digest [sha256.Size]byte

type kept[V any] struct {
	value V
	until time.Time
}

// call is one that several may wait for.
type call[V any] struct {
	waiting int           // how many do; guarded by the cache
	cancel  func()        // for when nobody does
	done    chan struct{} // closed when the rest is there
	value   V
	err     error
}

// NewCache returns a cache of at most limit answers. If there are more, any one is forgotten.
func NewCache[V any](limit int) *Cache[V] {
	c := &Cache[V]{limit: limit, kept: map[digest]kept[V]{}, calls: map[digest]*call[V]{}}
	rand.Read(c.key[:]) // never fails
	return c
}

// Do returns what ask answers to a question, or has answered not long ago: its second result
// says for how long an answer is kept. Errors are not kept. Those who ask the same at the
// same time share one call, which ends when nobody waits for it any more. Do ends with its
// context, with the error of it.
func (c *Cache[V]) Do(ctx context.Context, question []byte, ask func(context.Context) (V, time.Duration, error)) (V, error) {
	sum := c.digest(question)
	c.mu.Lock()
	if found, ok := c.kept[sum]; ok {
		if time.Now().Before(found.until) {
			c.mu.Unlock()
			return found.value, nil
		}
		delete(c.kept, sum)
	}
	shared := c.calls[sum]
	if shared == nil {
		// The context of who asks first must not end the call of the others.
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
		c.keep(sum, kept[V]{value, time.Now().Add(ttl)})
	}
	c.forget(sum, shared)
	close(shared.done)
}

// guarded asks. A panic ends this call only, and not the program.
func guarded[V any](ctx context.Context, ask func(context.Context) (V, time.Duration, error)) (value V, ttl time.Duration, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			log.Printf("panic in a call of a webhook: %v\n%s", reason, debug.Stack())
			err = errors.New("the call of the webhook failed; the server's log has the reason")
		}
	}()
	return ask(ctx)
}

// leave ends a call when the last one who waits for it leaves. Who comes later makes another.
func (c *Cache[V]) leave(sum digest, shared *call[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if shared.waiting--; shared.waiting == 0 {
		shared.cancel()
		c.forget(sum, shared)
	}
}

func (c *Cache[V]) forget(sum digest, shared *call[V]) {
	if c.calls[sum] == shared {
		delete(c.calls, sum)
	}
}

func (c *Cache[V]) keep(sum digest, value kept[V]) {
	for other := range c.kept { // in any order
		if len(c.kept) < c.limit {
			break
		}
		delete(c.kept, other)
	}
	c.kept[sum] = value
}

func (c *Cache[V]) digest(question []byte) (sum digest) {
	hash := hmac.New(sha256.New, c.key[:])
	hash.Write(question)
	hash.Sum(sum[:0])
	return sum
}
