package util

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Each caller gets the result of a call that began after it asked, and there are
// far fewer calls than callers.
func TestASharedCallIsNeverOlderThanItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shared SharedCall[time.Time]
		calls := 0
		look := func() (time.Time, error) {
			calls++
			began := time.Now()
			time.Sleep(10 * time.Millisecond)
			return began, nil
		}
		var group sync.WaitGroup
		for i := range 100 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				asked := time.Now()
				began, err := shared.Do(look)
				assert.NoError(t, err)
				assert.False(t, began.Before(asked))
			})
		}
		group.Wait()
		assert.LessOrEqual(t, calls, 12)
	})
}

func TestAFailureIsSharedByThoseWhoWaitForTheNextCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shared SharedCall[int]
		calls := 0
		hang := func() (int, error) {
			calls++
			time.Sleep(time.Second)
			return 0, errors.New("away")
		}
		start := time.Now()
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				_, err := shared.Do(hang)
				assert.EqualError(t, err, "away")
			})
		}
		group.Wait()
		assert.Equal(t, time.Second, time.Since(start), "nobody waited for a second call")
		assert.Equal(t, 1, calls)
		result, err := shared.Do(func() (int, error) { return 7, nil })
		assert.NoError(t, err)
		assert.Equal(t, 7, result)
	})
}

// numbered is the failure of the call with this number.
type numbered int64

func (numbered) Error() string { return "away" }

// The order of the goroutines is left to chance: no order may break this.
func TestNobodyGetsAFailureThatWasReturnedBeforeItAsked(t *testing.T) {
	t.Parallel()
	var shared SharedCall[int]
	var calls, returned atomic.Int64
	fail := func() (int, error) { return 0, numbered(calls.Add(1)) }
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5000 {
				last := returned.Load()
				_, err := shared.Do(fail)
				var number numbered
				if !assert.ErrorAs(t, err, &number) || !assert.Greater(t, int64(number), last) {
					return
				}
				returned.Store(int64(number))
			}
		})
	}
	group.Wait()
}

func TestACallThatPanicsIsAFailureToAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shared SharedCall[int]
		var failures atomic.Int32
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				defer func() { _ = recover() }()
				_, err := shared.Do(func() (int, error) { time.Sleep(time.Second); panic("broken") })
				assert.Error(t, err)
				failures.Add(1)
			})
			synctest.Wait()
		}
		group.Wait()
		assert.EqualValues(t, 2, failures.Load())
	})
}
