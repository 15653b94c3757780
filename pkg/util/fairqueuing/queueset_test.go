package fairqueuing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// one returns the only level of a server with so many seats.
func one(seats int, settings Settings) *QueueSet {
	settings.Name, settings.Shares = "only", 1
	return NewSet(seats).Configure([]Settings{settings})["only"]
}

var queued = Settings{Queues: 64, Hand: 6, QueueLength: 1000}

// serve lets a request be served for a time, or until its context ends, and returns how long it has waited.
func serve(ctx context.Context, f *Flow, who string, work Work, takes time.Duration) (time.Duration, error) {
	begun := time.Now()
	ticket, err := f.Wait(ctx, Request{Distinguisher: who, Work: work})
	if err != nil {
		return time.Since(begun), err
	}
	waited := time.Since(begun)
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	ticket.Done()
	return waited, nil
}

// What is served when mice come ends in the time of an elephant's request. Then each queue of the elephant may take all seats once, if they
// are free at the same moment: what its requests cost is known at their end only. After that it is ahead of all mice.
func TestManyRequestsOfOneUserDelayOthersOnlyAsFairQueuingSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const seats, elephants, mice = 10, 1000, 100
		const elephant, mouse = time.Second, 100 * time.Millisecond
		flow := one(seats, queued).Flow("service-accounts")
		var all sync.WaitGroup
		for range elephants {
			all.Go(func() {
				_, err := serve(t.Context(), flow, "elephant", Work{Seats: 1}, elephant)
				assert.NoError(t, err)
			})
		}
		time.Sleep(elephant * 5 / 2)
		bound := time.Duration(queued.Hand+1)*elephant + 2*mice*mouse/seats
		var longest atomic.Int64
		var served atomic.Int64
		var small sync.WaitGroup
		for i := range mice {
			small.Go(func() {
				waited, err := serve(t.Context(), flow, fmt.Sprint("mouse ", i), Work{Seats: 1}, mouse)
				assert.NoError(t, err)
				assert.LessOrEqual(t, waited, bound)
				served.Add(1)
				for old := longest.Load(); int64(waited) > old && !longest.CompareAndSwap(old, int64(waited)); old = longest.Load() {
				}
			})
		}
		small.Wait()
		assert.EqualValues(t, mice, served.Load())
		assert.Less(t, bound, elephants*elephant/seats/10, "in one queue they would wait for all of the elephant")
		t.Log("the longest wait of a mouse", time.Duration(longest.Load()), "of", bound)
		all.Wait()
	})
}

func TestALevelOfQueuesWithoutSeatsServesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		waited, err := serve(ctx, one(0, queued).Flow("a"), "ann", Work{Seats: 1}, 0)
		assert.Equal(t, TimeOut, err)
		assert.Equal(t, time.Minute, waited)
	})
}

// As in today's server.
func TestALevelWithoutQueuesServesOneEvenWithoutSeats(t *testing.T) {
	t.Parallel()
	flow := one(0, Settings{}).Flow("a")
	first, err := flow.Wait(t.Context(), Request{Work: Work{Seats: 10}})
	require.NoError(t, err)
	_, err = flow.Wait(t.Context(), Request{Work: Work{Seats: 1}})
	assert.Equal(t, ConcurrencyLimit, err)
	first.Done()
	_, err = flow.Wait(t.Context(), Request{Work: Work{Seats: 1}})
	assert.NoError(t, err)
}

func TestAFullQueueRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := one(1, Settings{Queues: 1, Hand: 1, QueueLength: 2})
		flow := l.Flow("a")
		ctx, cancel := context.WithCancel(t.Context())
		ticket, err := flow.Wait(ctx, Request{Work: Work{Seats: 1}})
		require.NoError(t, err)
		var waiting sync.WaitGroup
		for range 2 {
			waiting.Go(func() { _, _ = serve(ctx, flow, "", Work{Seats: 1}, 0) })
		}
		synctest.Wait()
		_, err = flow.Wait(ctx, Request{Work: Work{Seats: 1}})
		assert.Equal(t, QueueFull, err)
		assert.EqualError(t, err, "the request is refused: queue-full")
		cancel()
		waiting.Wait()
		counts := l.state(true).Flows[0]
		assert.Equal(t, FlowCounts{Name: "a", Executing: 1, Seats: 1, Dispatched: 1, Rejected: map[Refused]int{QueueFull: 1, TimeOut: 2}}, counts)
		ticket.Done()
		ticket.Done()
		assert.Zero(t, l.state(true).Seats, "it is given back once")
	})
}

func TestWhoGoesAwayLeavesItsPlaceToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := one(20, Settings{Queues: 1, Hand: 1, QueueLength: 9})
		flow := l.Flow("a")
		for range 18 {
			_, err := flow.Wait(t.Context(), Request{Work: Work{Seats: 1}})
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := flow.Wait(ctx, Request{Work: Work{Seats: 4}})
			assert.Equal(t, TimeOut, err)
		}()
		synctest.Wait()
		assert.Equal(t, 3, l.wanted, "it may want 15 percent of the seats")
		var narrow atomic.Bool
		go func() {
			_, err := flow.Wait(t.Context(), Request{Work: Work{Seats: 1}})
			assert.NoError(t, err)
			narrow.Store(true)
		}()
		synctest.Wait()
		assert.False(t, narrow.Load(), "the first of the queue wants more than there is")
		cancel()
		synctest.Wait()
		assert.True(t, narrow.Load())
	})
}

func TestARequestWaitsForItsTimeOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := one(1, queued)
		held, err := l.Flow("a").Wait(t.Context(), Request{Work: Work{Seats: 1}})
		require.NoError(t, err)
		begun := time.Now()
		until := func() Request { return Request{Work: Work{Seats: 1}, Until: time.Now().Add(15 * time.Second)} }
		_, err = l.Flow("a").Wait(t.Context(), until())
		assert.Equal(t, TimeOut, err)
		assert.Equal(t, 15*time.Second, time.Since(begun))
		time.AfterFunc(time.Second, held.Done)
		_, err = l.Flow("a").Wait(t.Context(), until())
		assert.NoError(t, err)
		assert.Equal(t, 16*time.Second, time.Since(begun))
	})
}

func TestSeatsAreKeptWhileARequestLingers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		settings Settings
		seats    int
		lingers  time.Duration
	}{
		"with all that there are":        {Settings{}, 2, 2 * time.Second},
		"with the most that it may have": {queued, 1, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := one(2, row.settings)
				_, err := serve(t.Context(), l.Flow("a"), "", Work{Seats: 1, FinalSeats: 4, Linger: time.Second}, time.Second)
				require.NoError(t, err)
				time.Sleep(row.lingers - time.Nanosecond)
				assert.Equal(t, row.seats, l.state(true).Seats)
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				assert.Zero(t, l.state(true).Seats)
				assert.Equal(t, 0, l.active)
				assert.Zero(t, l.virt)
			})
		})
	}
}

func TestAnExemptLevelCountsOnly(t *testing.T) {
	t.Parallel()
	l := one(0, Settings{Exempt: true})
	for range 20 {
		_, err := l.Flow("a").Wait(t.Context(), Request{Work: Work{Seats: 10}})
		require.NoError(t, err)
	}
	assert.Equal(t, 200, l.state(true).Seats)
}

// A model only counts: with any settings, what is served never takes more seats than there are, and no seat that the next one wants is
// free while it waits.
func TestTheSeatsInUseAreNeverMoreThanThereAre(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 44))
			settings := Settings{QueueLength: 1 + random.IntN(5)}
			if seed%3 > 0 {
				settings.Queues = 1 + random.IntN(8)
				settings.Hand = 1 + random.IntN(min(settings.Queues, 4))
			}
			l := one(1+random.IntN(20), settings)
			ctx, cancel := context.WithCancel(t.Context())
			var mu sync.Mutex
			var served []*Ticket
			var all sync.WaitGroup
			for range 300 {
				switch random.IntN(5) {
				case 0, 1:
					work := Work{Seats: 1 + random.IntN(4)}
					if random.IntN(3) == 0 {
						work.FinalSeats, work.Linger = 1+random.IntN(4), time.Duration(random.IntN(9))*time.Millisecond
					}
					who := fmt.Sprint(random.IntN(4))
					all.Go(func() {
						if ticket, err := l.Flow("a").Wait(ctx, Request{Distinguisher: who, Work: work}); err == nil {
							mu.Lock()
							defer mu.Unlock()
							served = append(served, ticket)
						}
					})
				case 2:
					if len(served) > 0 {
						at := random.IntN(len(served))
						ticket := served[at]
						served = slices.Delete(served, at, at+1)
						ticket.Done()
					}
				case 3:
					time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond)
				case 4:
					if random.IntN(10) == 0 {
						cancel()
						synctest.Wait()
						assert.Zero(t, l.wanted)
						ctx, cancel = context.WithCancel(t.Context())
					}
				}
				synctest.Wait()
				l.mu.Lock()
				inUse, active := 0, map[*queue]bool{}
				for _, ticket := range served {
					inUse += ticket.Work.most()
					active[ticket.queue] = true
				}
				for _, q := range l.busy {
					active[q] = true
				}
				delete(active, nil)
				require.Len(t, l.executing, len(served))
				require.LessOrEqual(t, inUse, l.inUse, "some linger")
				require.LessOrEqual(t, l.inUse, l.limit)
				require.Len(t, active, l.active)
				if l.wanted > 0 && l.inUse < l.limit {
					require.Positive(t, l.inUse, "somebody is served")
				}
				l.mu.Unlock()
			}
			cancel()
			all.Wait()
			for _, ticket := range served {
				ticket.Done()
			}
			time.Sleep(time.Minute)
			assert.True(t, l.isIdle())
			assert.Zero(t, l.active)
		})
	}
}

// It finds races, with -race.
func TestManyAtOnceAreServedAndRefused(t *testing.T) {
	t.Parallel()
	s := NewSet(5)
	settings := []Settings{{Name: "a", Shares: 1, Lendable: 50, Queues: 4, Hand: 2, QueueLength: 3}, {Name: "b", Shares: 1}}
	levels := s.Configure(settings)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for j := range 200 {
				ticket, err := levels[[]string{"a", "b"}[j%2]].Flow("x").Wait(ctx,
					Request{Distinguisher: fmt.Sprint(i), Work: Work{Seats: 1 + j%2, Linger: time.Duration(j%3) * time.Microsecond}})
				if err == nil {
					ticket.Done()
				}
				if j%50 == 0 {
					s.Adjust()
					s.Configure(settings)
					s.States(true)
				}
			}
		})
	}
	all.Wait()
}

func TestAFlowChoosesAmongItsHandOnly(t *testing.T) {
	t.Parallel()
	seen := map[int]int{}
	for i := range 1000 {
		hand := make([]int, 6)
		deal(hashOf("a", fmt.Sprint(i)), 64, hand)
		for j, card := range hand {
			seen[card]++
			assert.True(t, card >= 0 && card < 64 && (j == 0 || hand[j-1] < card), "they differ: %v", hand)
		}
	}
	for card := range 64 {
		assert.InDelta(t, 1000.*6/64, seen[card], 45, "card %d", card)
	}
	hand := make([]int, 2)
	deal(hashOf("zeroq", "zeroq"), 4, hand)
	assert.Equal(t, []int{2, 3}, hand, "as in kube-apiserver 1.36.3")
	assert.NotEqual(t, hashOf("ab", "c"), hashOf("a", "bc"))
}

// What a request costs that finds its seats free.
func BenchmarkARequest(b *testing.B) {
	for name, settings := range map[string]Settings{"exempt": {Exempt: true}, "without queues": {}, "queued": queued} {
		flow := one(100, settings).Flow("service-accounts")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ticket, err := flow.Wait(b.Context(), Request{Distinguisher: "system:serviceaccount:default:default", Work: Work{Seats: 1}})
				if err != nil {
					b.Fatal(err)
				}
				ticket.Done()
			}
		})
	}
}
