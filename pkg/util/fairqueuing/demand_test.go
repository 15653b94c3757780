package fairqueuing

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair is a level that lends all, and one that does not borrow, on 100 seats.
func pair() (*Set, *QueueSet) {
	s := NewSet(100)
	a := Settings{Name: "a", Shares: 1, Lendable: 100, Queues: 8, Hand: 2, QueueLength: 100}
	b := a
	b.Name = "b"
	return s, s.Configure([]Settings{a, b})["a"]
}

func TestRequestsThatTakeLongerThanAPeriodKeepTheirDemand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, level := pair()
		for range 40 {
			go func() { _, _ = serve(t.Context(), level.Flow("x"), "ann", Work{Seats: 1}, time.Hour) }()
		}
		synctest.Wait()
		for range 3 {
			time.Sleep(AdjustPeriod)
			s.Adjust()
			assert.Equal(t, 40, s.States(false)[0].High)
		}
	})
}

func TestDemandFallsToHalfInFiveMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, level := pair()
		ticket, err := level.Flow("x").Wait(t.Context(), Request{Work: Work{Seats: 4}})
		require.NoError(t, err)
		time.Sleep(AdjustPeriod)
		s.Adjust()
		was := s.States(false)[0].Smoothed
		require.Positive(t, was)
		ticket.Done()
		for range 30 {
			time.Sleep(AdjustPeriod)
			s.Adjust()
		}
		assert.InDelta(t, was/2, s.States(false)[0].Smoothed, was/50)
	})
}
