//go:build today

package fairqueuing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	today "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	todaysrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// unread is a gauge of today's server that nobody reads.
type unread struct{}

func (unread) Set(float64)            {}
func (unread) Inc()                   {}
func (unread) Dec()                   {}
func (unread) Add(float64)            {}
func (unread) SetToCurrentTime()      {}
func (unread) SetDenominator(float64) {}

// planned is a request that comes at a time, and takes another.
type planned struct {
	at, takes time.Duration
	who       string
	work      Work
}

// With one queue for each flow, so that nobody chooses, each request of a thousand begins when it does in the queues of today's server, or is
// refused as there.
func TestRequestsBeginWhenTheyDoInTodaysServer(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 7))
				var plan []planned
				at := time.Duration(0)
				for range 1000 {
					at += time.Duration(random.ExpFloat64() * float64(4*time.Millisecond))
					p := planned{at: at, takes: time.Duration(random.ExpFloat64() * float64(200*time.Millisecond)), who: fmt.Sprint(int(random.ExpFloat64() * 3)), work: Work{Seats: 1}}
					if random.IntN(4) == 0 {
						p.work.Seats = 1 + random.IntN(6)
					}
					if random.IntN(4) == 0 {
						p.work.FinalSeats, p.work.Linger = 1+random.IntN(6), time.Duration(random.IntN(20))*time.Millisecond
					}
					plan = append(plan, p)
				}
				const seats, queues, length = 40, 16, 20
				flow := one(seats, Settings{Queues: queues, Hand: 1, QueueLength: length}).Flow("flow")
				ours := play(plan, func(p planned, serve func()) {
					if ticket, err := flow.Wait(t.Context(), Request{Distinguisher: p.who, Work: p.work}); err == nil {
						serve()
						ticket.Done()
					}
				})
				completer, err := queueset.NewQueueSetFactory(eventclock.Real{}).BeginConstruction(
					today.QueuingConfig{Name: "only", DesiredNumQueues: queues, QueueLengthLimit: length, HandSize: 1},
					metrics.RatioedGaugePair{RequestsWaiting: unread{}, RequestsExecuting: unread{}}, unread{}, unread{})
				require.NoError(t, err)
				set := completer.Complete(today.DispatchingConfig{ConcurrencyLimit: seats, ConcurrencyDenominator: seats})
				theirs := play(plan, func(p planned, serve func()) {
					work := todaysrequest.WorkEstimate{InitialSeats: uint64(p.work.Seats), FinalSeats: uint64(p.work.FinalSeats), AdditionalLatency: p.work.Linger}
					request, _ := set.StartRequest(context.Background(), &work, hashOf("flow", p.who), p.who, "flow", nil, nil, nil)
					if request != nil {
						request.Finish(serve)
					}
				})
				waited, refused := 0, 0
				for i, p := range plan {
					switch began, ok := ours[i]; {
					case !ok:
						refused++
					case began > p.at:
						waited++
					}
				}
				assert.Equal(t, theirs, ours, "%d waited, %d were refused", waited, refused)
				assert.Greater(t, waited, 100)
				t.Log(waited, "waited,", refused, "were refused")
			})
		})
	}
}

// play sends the requests of a plan, and returns when they began.
func play(plan []planned, send func(p planned, serve func())) map[int]time.Duration {
	var mu sync.Mutex
	var all sync.WaitGroup
	begun, start := map[int]time.Duration{}, time.Now()
	for i, p := range plan {
		all.Go(func() {
			time.Sleep(p.at)
			send(p, func() {
				mu.Lock()
				begun[i] = time.Since(start)
				mu.Unlock()
				time.Sleep(p.takes)
			})
		})
	}
	all.Wait()
	time.Sleep(time.Minute) // until none lingers
	return begun
}
