package deployment_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// sharedRandom may be used by several goroutines.
type sharedRandom struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (r *sharedRandom) IntN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(n)
}

func (r *sharedRandom) milliseconds(most int) time.Duration {
	return time.Duration(r.IntN(most)) * time.Millisecond
}

// lateWriter waits before it writes.
type lateWriter struct {
	http.ResponseWriter
	random *sharedRandom
}

func (w lateWriter) Write(data []byte) (int, error) {
	time.Sleep(w.random.milliseconds(300))
	return w.ResponseWriter.Write(data)
}

// Unwrap is for an http.ResponseController.
func (w lateWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w lateWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// randomFaults lets one of five requests of the controller go wrong, and half of its watches be late. A request whose sender
// has given up is not served any more: that one may come late is more than can be promised.
func randomFaults(random *sharedRandom) func(w http.ResponseWriter, req *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.UserAgent() == "test" {
			next.ServeHTTP(w, req)
			return
		}
		if req.URL.Query().Get("watch") != "" && random.IntN(2) == 0 {
			w = lateWriter{w, random}
		}
		switch random.IntN(25) {
		case 0:
			loseAnswer(req, next)
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			refuse(w, http.StatusInternalServerError, "InternalError", "by chance")
			return
		case 3:
			refuse(w, http.StatusForbidden, "Forbidden", "by chance")
			return
		case 4:
			body, err := io.ReadAll(req.Body) // after that the server sees when the sender goes
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			time.Sleep(random.milliseconds(1000))
			if req.Context().Err() != nil {
				panic(http.ErrAbortHandler)
			}
		}
		next.ServeHTTP(w, req)
	}
}

// Whatever goes wrong, a deployment has never more pods than it may have, deletes no available one that it needs, and has all of
// the last template in the end.
//
// In which order goroutines run is chance, even with a seed.
func TestTheLimitsAreKeptWhateverGoesWrong(t *testing.T) {
	t.Parallel()
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4 // each strategy once
	}
	for seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				random := &sharedRandom{random: rand.New(rand.NewPCG(seed, 1))}
				b.fleet.change(func(f *fleet) {
					f.broken = "bad"
					f.lag = func() time.Duration { return random.milliseconds(400) }
				})
				strategy := [][]string{{"25%", "25%"}, {"0", "2"}, {"3", "0"}, {"100%", "50%"}}[seed%4]
				b.create(rolling(strategy[0], strategy[1]))
				stop := b.run()
				b.settle(time.Minute)
				limits := func(replicas int) (most, least int) {
					return replicas + map[uint64][]int{0: {3, 5}, 1: {0, 0}, 2: {3, 3}, 3: {10, 20}}[seed%4][replicas/10-1], 0
				}
				most, _ := limits(10)
				floor := []int{8, 8, 10, 5}[seed%4]
				b.fleet.expect(most, floor)
				b.Intercept(randomFaults(&sharedRandom{random: rand.New(rand.NewPCG(seed, 2))}))
				for range 60 {
					switch action := random.IntN(12); {
					case action < 6:
						b.change(image([]string{"one", "two", "three", "bad"}[random.IntN(4)]))
					case action == 6:
						stop()
						synctest.Wait() // the server has done what it was asked
						stop = b.run()
					case action == 7:
						b.change(paused(true))
					case action == 8:
						b.change(paused(false))
					case action == 9: // to more, and from now on that
						b.change(size(20))
						most, _ := limits(20)
						b.fleet.change(func(f *fleet) { f.most, f.least = most, min(f.least, floor) })
					default:
						time.Sleep(random.milliseconds(20000))
					}
					time.Sleep(random.milliseconds(1500))
				}
				b.Intercept(nil)
				b.change(image("last"), paused(false))
				b.settle(30 * time.Minute)
				b.requireDone("last", *b.get().Spec.Replicas)
				names := map[string]bool{}
				for _, set := range b.sets() {
					assert.False(t, names[imageOf(set)], "there are two of the image "+imageOf(set))
					names[imageOf(set)] = true
				}
				revisions := []string{}
				for _, set := range b.sets() {
					revisions = append(revisions, set.Annotations["deployment.kubernetes.io/revision"])
				}
				slices.Sort(revisions)
				assert.Len(t, slices.Compact(revisions), len(b.sets()), fmt.Sprint(revisions))
				assert.Nil(t, b.get().Status.CollisionCount)
			})
		})
	}
}
