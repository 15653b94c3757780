package generic

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
)

func TestTheWritersOfAnObjectTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns KeyLocks
		order := make(chan int, 3) // those that have had the turn
		done := turns.lock(t.Context(), api.DefaultKey(api.TaskKind, "web"))
		for writer := range 3 {
			go func() {
				defer turns.lock(t.Context(), api.DefaultKey(api.TaskKind, "web"))()
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
		assertForgotten(t, &turns)
	})
}

func TestTheWritersOfOtherObjectsDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns KeyLocks
		began := time.Now()
		defer turns.lock(t.Context(), api.DefaultKey(api.TaskKind, "web"))()
		defer turns.lock(t.Context(), api.DefaultKey(api.TaskKind, "db"))()
		defer turns.lock(t.Context(), api.DefaultKey(api.ServiceKind, "web"))()
		assert.Equal(t, began, time.Now())
	})
}

func TestAWriterDoesNotWaitForItsTurnForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns KeyLocks
		defer assertForgotten(t, &turns)
		defer turns.lock(t.Context(), api.DefaultKey(api.TaskKind, "web"))()
		began := time.Now()
		turns.lock(t.Context(), api.DefaultKey(api.TaskKind, "web"))()
		assert.Equal(t, lockTimeout, time.Since(began))

		gone, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		turns.lock(gone, api.DefaultKey(api.TaskKind, "web"))()
		assert.Equal(t, lockTimeout+time.Second, time.Since(began))
	})
}

func assertForgotten(t *testing.T, turns *KeyLocks) {
	t.Helper()
	turns.mu.Lock()
	defer turns.mu.Unlock()
	assert.Empty(t, turns.queues, "a turn that nobody wants is kept")
}
