package answers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// asker answers with how often it was asked.
type asker struct {
	asked int
	takes time.Duration
	ttl   time.Duration
	err   error
}

func (a *asker) ask(ctx context.Context) (int, time.Duration, error) {
	a.asked++
	number, err := a.asked, a.err
	select {
	case <-ctx.Done():
		return 0, a.ttl, ctx.Err()
	case <-time.After(a.takes):
		return number, a.ttl, err
	}
}

func TestAnAnswerIsKeptForItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, a := New[int](10), &asker{ttl: time.Minute}
		for _, want := range []int{1, 1, 2, 2} {
			answer, err := c.Do(t.Context(), []byte("q"), a.ask)
			assert.NoError(t, err)
			assert.Equal(t, want, answer)
			time.Sleep(time.Minute / 2)
		}
		answer, _ := c.Do(t.Context(), []byte("other"), a.ask)
		assert.Equal(t, 3, answer, "another question has another answer")
		a.ttl = 0
		for _, want := range []int{4, 5} {
			answer, _ := c.Do(t.Context(), []byte("third"), a.ask)
			assert.Equal(t, want, answer, "it is not kept")
		}
	})
}

func TestAnErrorIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, a := New[int](10), &asker{ttl: time.Minute, err: errors.New("away")}
		_, err := c.Do(t.Context(), []byte("q"), a.ask)
		assert.EqualError(t, err, "away")
		a.err = nil
		answer, err := c.Do(t.Context(), []byte("q"), a.ask)
		assert.NoError(t, err)
		assert.Equal(t, 2, answer)
	})
}

func TestThoseWhoAskTheSameShareACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, a := New[int](10), &asker{takes: time.Second, ttl: time.Minute}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				answer, err := c.Do(t.Context(), []byte("q"), a.ask)
				assert.NoError(t, err)
				assert.Equal(t, 1, answer)
			})
		}
		all.Wait()
		assert.Equal(t, 1, a.asked)
		assert.Empty(t, c.calls)
	})
}

func TestWhoLeavesEndsACallOnlyIfNobodyElseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, a := New[int](10), &asker{takes: time.Hour, ttl: time.Minute}
		ask := func(patience time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := c.Do(ctx, []byte("q"), a.ask)
			return err
		}
		var first, second error
		var all sync.WaitGroup
		all.Go(func() { first = ask(time.Second) })
		synctest.Wait()
		all.Go(func() { second = ask(2 * time.Hour) })
		all.Wait()
		assert.ErrorIs(t, first, context.DeadlineExceeded)
		assert.NoError(t, second, "the call of the first was that of the second, too")
		assert.Equal(t, 1, a.asked)

		time.Sleep(time.Hour)
		assert.Error(t, ask(time.Second))
		assert.Empty(t, c.calls)
		synctest.Wait() // the call has ended, or the bubble would not
		assert.NoError(t, ask(2*time.Hour), "who comes later does not get the error of who left")
		assert.Equal(t, 3, a.asked)
	})
}

// It replaces the process's log, so it is not parallel.
func TestAPanicInACallEndsOnlyThatCall(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	c := New[int](10)
	_, err := c.Do(t.Context(), []byte("q"), func(context.Context) (int, time.Duration, error) { panic("broken") })
	assert.EqualError(t, err, "the question failed; the server's log has the reason")
	assert.Contains(t, logged.String(), "broken")
	answer, err := c.Do(t.Context(), []byte("q"), func(context.Context) (int, time.Duration, error) { return 7, time.Hour, nil })
	assert.NoError(t, err)
	assert.Equal(t, 7, answer)
}

func TestACacheIsBounded(t *testing.T) {
	t.Parallel()
	c, a := New[int](100), &asker{ttl: time.Hour}
	for i := range 1000 {
		_, err := c.Do(t.Context(), fmt.Append(nil, i), a.ask)
		assert.NoError(t, err)
		assert.LessOrEqual(t, len(c.answers), 100)
	}
	answer, _ := c.Do(t.Context(), fmt.Append(nil, 999), a.ask)
	assert.Equal(t, 1000, answer, "the last one is there")
}

func BenchmarkKept(b *testing.B) {
	c, a := New[int](100), &asker{ttl: time.Hour}
	for b.Loop() {
		_, _ = c.Do(b.Context(), []byte("question"), a.ask)
	}
}
