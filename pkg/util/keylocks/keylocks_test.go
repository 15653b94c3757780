package keylocks

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

const patience = 2 * time.Second

// lock returns the function that releases a lock, whether it is held or not.
func (l *Locks[Key]) lock(ctx context.Context, key Key) (unlock func()) {
	unlock, _ = l.Lock(ctx, key, patience)
	return unlock
}

func TestTheWritersOfAnObjectTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks Locks[string]
		order := make(chan int, 3) // those that have had the turn
		done := locks.lock(t.Context(), "web")
		for writer := range 3 {
			go func() {
				defer locks.lock(t.Context(), "web")()
				order <- writer
				time.Sleep(time.Second / 2)
			}()
			synctest.Wait()
		}
		assert.Empty(t, order)
		done()
		synctest.Wait()
		assert.Len(t, order, 1, "two have the turn")
		for writer := range 3 {
			assert.Equal(t, writer, <-order)
		}
		time.Sleep(time.Second)
		assertForgotten(t, &locks)
	})
}

func TestTheWritersOfOtherObjectsDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks Locks[string]
		began := time.Now()
		defer locks.lock(t.Context(), "web")()
		defer locks.lock(t.Context(), "db")()
		defer locks.lock(t.Context(), "service web")()
		assert.Equal(t, began, time.Now())
	})
}

func TestAWriterDoesNotWaitForItsTurnForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks Locks[string]
		defer assertForgotten(t, &locks)
		defer locks.lock(t.Context(), "web")()
		began := time.Now()
		locks.lock(t.Context(), "web")()
		assert.Equal(t, patience, time.Since(began))

		gone, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		locks.lock(gone, "web")()
		assert.Equal(t, patience+time.Second, time.Since(began))
	})
}

func assertForgotten(t *testing.T, locks *Locks[string]) {
	t.Helper()
	locks.mu.Lock()
	defer locks.mu.Unlock()
	assert.Empty(t, locks.locks, "a turn that nobody wants is kept")
}
