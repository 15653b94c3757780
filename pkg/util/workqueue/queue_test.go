package workqueue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// seen is what workers have looked at.
type seen struct {
	mu   sync.Mutex
	keys []string
	at   []time.Duration // since the bubble began
}

// start lets workers of a queue, in a synctest bubble, note each key and then do work.
func start(t *testing.T, q *Queue, workers int, work Sync) *seen {
	s, began := &seen{}, time.Now()
	go q.Run(t.Context(), workers, func(ctx context.Context, key string) error {
		s.mu.Lock()
		s.keys, s.at = append(s.keys, key), append(s.at, time.Since(began))
		s.mu.Unlock()
		return work(ctx, key)
	})
	return s
}

func nothing(context.Context, string) error { return nil }

func TestAKeyThatWaitsIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New("test")
		for _, key := range []string{"a", "b", "a", "b", "c"} {
			q.Add(key)
		}
		s := start(t, q, 1, nothing)
		synctest.Wait()
		assert.Equal(t, []string{"a", "b", "c"}, s.keys)
		q.Add("a")
		synctest.Wait()
		assert.Equal(t, []string{"a", "b", "c", "a"}, s.keys)
	})
}

func TestAKeyIsNeverAtTwoWorkersAndComesAgainIfItWasAddedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, goOn := New("test"), make(chan struct{})
		s := start(t, q, 3, func(context.Context, string) error { <-goOn; return nil })
		q.Add("a")
		synctest.Wait()
		q.Add("a")
		q.Add("a")
		q.Add("b")
		synctest.Wait()
		assert.Equal(t, []string{"a", "b"}, s.keys)
		close(goOn)
		synctest.Wait()
		assert.Equal(t, []string{"a", "b", "a"}, s.keys)
	})
}

func TestAllWorkersWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, goOn := New("test"), make(chan struct{})
		defer close(goOn)
		for _, key := range []string{"a", "b", "c", "d"} {
			q.Add(key)
		}
		s := start(t, q, 3, func(context.Context, string) error { <-goOn; return nil })
		synctest.Wait()
		assert.ElementsMatch(t, []string{"a", "b", "c"}, s.keys)
	})
}

func TestAKeyThatFailsComesAgainAfterGrowingPauses(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("not now") },
		"a panic":  func() error { panic("a mistake") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, failures := New("test"), 20
				s := start(t, q, 1, func(context.Context, string) error {
					if failures--; failures >= 0 {
						return fail()
					}
					return nil
				})
				q.Add("a")
				time.Sleep(time.Hour)
				synctest.Wait()
				assert.Len(t, s.at, 21, "20 failures, and a success")
				assert.Equal(t, []time.Duration{0, minPause, 3 * minPause, 7 * minPause}, s.at[:4])
				assert.Equal(t, maxPause, s.at[20]-s.at[19])
				failures = 1
				q.Add("a")
				time.Sleep(time.Hour)
				synctest.Wait()
				assert.Equal(t, minPause, s.at[22]-s.at[21], "a success forgets the failures")
			})
		})
	}
}

func TestAKeyIsAddedAfterAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New("test")
		s := start(t, q, 1, nothing)
		q.AddAfter("late", time.Minute)
		q.AddAfter("now", 0)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, []string{"now", "late"}, s.keys)
		assert.Equal(t, []time.Duration{0, time.Minute}, s.at)
	})
}

func TestRunEndsWithItsContextWhenTheWorkersAreDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New("test")
		ctx, cancel := context.WithCancel(t.Context())
		q.Add("a")
		q.Run(ctx, 2, func(ctx context.Context, _ string) error {
			cancel()
			time.Sleep(time.Second)
			return ctx.Err()
		})
		assert.Error(t, ctx.Err())
	})
}

func TestManyAddedKeysAreAllLookedAt(t *testing.T) {
	t.Parallel()
	q, ctx := New("test"), t.Context()
	var mu sync.Mutex
	looked := map[string]bool{}
	done := make(chan struct{})
	go q.Run(ctx, 4, func(_ context.Context, key string) error {
		mu.Lock()
		defer mu.Unlock()
		if looked[key] = true; len(looked) == 1000 {
			close(done)
		}
		return nil
	})
	for _, letter := range strings.Split("abcdefghij", "") {
		go func() {
			for i := range 100 {
				q.Add(letter + strings.Repeat("x", i))
			}
		}()
	}
	<-done
	q.mu.Lock()
	defer q.mu.Unlock()
	assert.Empty(t, q.order)
}

func TestAKeyIsDelayedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New("test")
		s := start(t, q, 1, nothing)
		for _, pause := range []time.Duration{time.Hour, time.Minute, 10 * time.Minute, time.Second, 2 * time.Second} {
			q.AddAfter("key", pause)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		assert.Equal(t, []time.Duration{time.Second}, s.at, "the earliest time counts")
		q.AddAfter("key", time.Minute)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, []time.Duration{time.Second, 2*time.Hour + time.Minute}, s.at, "what was due may be delayed again")
	})
}
