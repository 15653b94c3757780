package fairqueuing

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func limits(s *Set) map[string]int {
	all := map[string]int{}
	for _, state := range s.States(true) {
		all[state.Name] = state.Limit
	}
	return all
}

// The levels of a new server, with 600 seats. The numbers are those of kube-apiserver 1.36.3, according to its metrics.
func TestTheSeatsAreDividedByShares(t *testing.T) {
	t.Parallel()
	s := NewSet(600)
	s.Configure([]Settings{{Name: "exempt", Exempt: true}, {Name: "catch-all", Shares: 5}, {Name: "system", Shares: 30, Lendable: 33}, {Name: "node-high", Shares: 40, Lendable: 25},
		{Name: "leader-election", Shares: 10}, {Name: "workload-high", Shares: 40, Lendable: 50}, {Name: "workload-low", Shares: 100, Lendable: 90}, {Name: "global-default", Shares: 20, Lendable: 50}})
	nominal, least := map[string]int{}, map[string]int{}
	for _, state := range s.States(true) {
		nominal[state.Name], least[state.Name] = state.Nominal, state.Least
	}
	assert.Equal(t, map[string]int{"exempt": 0, "catch-all": 13, "system": 74, "node-high": 98, "leader-election": 25, "workload-high": 98, "workload-low": 245, "global-default": 49}, nominal)
	assert.Equal(t, map[string]int{"exempt": 0, "catch-all": 13, "system": 50, "node-high": 73, "leader-election": 25, "workload-high": 49, "workload-low": 24, "global-default": 24}, least)
	assert.Equal(t, map[string]int{"exempt": 0, "catch-all": 30, "system": 117, "node-high": 170, "leader-election": 58, "workload-high": 114, "workload-low": 56, "global-default": 56}, limits(s))
}

func TestALevelBorrowsWhatOthersDoNotNeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSet(100)
		levels := s.Configure([]Settings{{Name: "busy", Shares: 1, Queues: 8, Hand: 2, QueueLength: 100}, {Name: "idle", Shares: 1, Lendable: 80}})
		assert.Equal(t, map[string]int{"busy": 83, "idle": 17}, limits(s), "nobody needs anything: in proportion to what they keep")
		for range 200 {
			go func() { _, _ = serve(t.Context(), levels["busy"].Flow("a"), "ann", Work{Seats: 1}, time.Hour) }()
		}
		synctest.Wait()
		time.Sleep(AdjustPeriod)
		s.Adjust()
		assert.Equal(t, map[string]int{"busy": 90, "idle": 10}, limits(s))
		assert.Equal(t, 90, s.States(true)[0].Seats, "they are taken at once")

		ticket, err := levels["idle"].Flow("a").Wait(t.Context(), Request{Work: Work{Seats: 10}})
		require.NoError(t, err)
		for range 30 {
			go func() { _, _ = serve(t.Context(), levels["idle"].Flow("a"), "", Work{Seats: 1}, 0) }()
		}
		time.Sleep(AdjustPeriod)
		s.Adjust()
		assert.Equal(t, map[string]int{"busy": 90, "idle": 10}, limits(s), "who rejects does not ask for more than it has")
		ticket.Done()
	})
}

func TestALevelGetsItsOwnSeatsBackWhenItNeedsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSet(100)
		none := 0
		queues := Settings{Name: "a", Shares: 1, Lendable: 100, Queues: 8, Hand: 2, QueueLength: 100}
		other := queues
		other.Name, other.Borrowable = "b", &none
		levels := s.Configure([]Settings{queues, other})
		for name, n := range map[string]int{"a": 70, "b": 90} {
			for range n {
				go func() { _, _ = serve(t.Context(), levels[name].Flow("x"), "ann", Work{Seats: 1}, time.Minute) }()
			}
		}
		time.Sleep(AdjustPeriod)
		s.Adjust()
		assert.Equal(t, map[string]int{"a": 50, "b": 50}, limits(s), "both need theirs, and one may not borrow")
		time.Sleep(10 * time.Minute)
		for range 100 {
			time.Sleep(AdjustPeriod)
			s.Adjust()
		}
		for range 90 {
			go func() { _, _ = serve(t.Context(), levels["a"].Flow("x"), "ann", Work{Seats: 1}, time.Minute) }()
		}
		time.Sleep(AdjustPeriod)
		s.Adjust()
		assert.Greater(t, limits(s)["a"], 80, "the other one needs nothing now")
	})
}

func TestExemptRequestsTakeTheSeatsThatOthersLend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSet(100)
		levels := s.Configure([]Settings{{Name: "exempt", Exempt: true}, {Name: "a", Shares: 1, Lendable: 50, Queues: 1, Hand: 1, QueueLength: 500}})
		for name, n := range map[string]int{"exempt": 30, "a": 100} {
			for range n {
				go func() { _, _ = serve(t.Context(), levels[name].Flow("x"), "", Work{Seats: 1}, time.Hour) }()
			}
		}
		time.Sleep(AdjustPeriod)
		s.Adjust()
		assert.Equal(t, map[string]int{"exempt": 30, "a": 70}, limits(s))
		for range 90 {
			go func() { _, _ = serve(t.Context(), levels["exempt"].Flow("x"), "", Work{Seats: 1}, time.Hour) }()
		}
		time.Sleep(AdjustPeriod)
		s.Adjust()
		assert.Equal(t, map[string]int{"exempt": 120, "a": 50}, limits(s))
	})
}

func TestK125ALevelThatIsGoneServesWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSet(2)
		rest := Settings{Name: "rest", Shares: 1}
		level := s.Configure([]Settings{rest, {Name: "gone", Shares: 1, Queues: 4, Hand: 2, QueueLength: 9}})["gone"]
		for range 3 {
			go func() {
				_, err := serve(t.Context(), level.Flow("a"), "", Work{Seats: 1}, time.Minute)
				assert.NoError(t, err)
			}()
		}
		synctest.Wait()
		s.Configure([]Settings{rest})
		state := s.States(true)[0]
		assert.True(t, state.Retired)
		assert.Len(t, state.Waiting, 2)
		time.Sleep(3*time.Minute + 1)
		s.Adjust()
		assert.Len(t, s.States(true), 1)
	})
}

func TestRequestsStayWhenTheirQueuesAreTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSet(1)
		settings := Settings{Name: "a", Shares: 1, Queues: 8, Hand: 4, QueueLength: 9}
		flow := s.Configure([]Settings{settings})["a"].Flow("x")
		var served atomic.Int64
		for range 9 {
			go func() {
				_, err := serve(t.Context(), flow, "", Work{Seats: 1}, time.Minute)
				assert.NoError(t, err)
				served.Add(1)
			}()
			synctest.Wait()
		}
		for _, queues := range []int{2, 0, 3} {
			settings.Queues, settings.Hand = queues, min(queues, 2)
			s.Configure([]Settings{settings})
			assert.Len(t, s.States(true)[0].Queues, queues)
			assert.Len(t, s.States(true)[0].Waiting, 8)
		}
		time.Sleep(9*time.Minute + 1)
		synctest.Wait()
		assert.EqualValues(t, 9, served.Load())
	})
}

// At few seats, or if it lends all.
func TestK127ALevelDoesNotLendItsLastSeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSet(6)
		queues := Settings{Queues: 4, Hand: 2, QueueLength: 9}
		few, idle, none := queues, queues, queues
		few.Name, few.Shares, few.Lendable = "few", 20, 50
		idle.Name, idle.Shares, idle.Lendable = "idle", 80, 100
		none.Name, none.Lendable, none.Borrowable = "none", 100, new(0)
		levels := s.Configure([]Settings{few, idle, none, {Name: "kept", Shares: 100}})
		assert.Equal(t, 0, limits(s)["none"])
		for _, name := range []string{"few", "idle"} {
			waited, err := serve(t.Context(), levels[name].Flow("a"), "", Work{Seats: 1}, 0)
			assert.NoError(t, err)
			assert.Zero(t, waited, name)
		}
		time.Sleep(AdjustPeriod)
		s.Adjust()
		assert.Positive(t, limits(s)["few"])
		assert.Positive(t, limits(s)["idle"])
	})
}
