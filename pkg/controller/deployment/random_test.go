package deployment_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/master/controllertest"
)

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
				random := controllertest.NewRandom(seed, 1)
				b.fleet.change(func(f *fleet) {
					f.broken = "bad"
					f.lag = func() time.Duration { return random.Milliseconds(400) }
				})
				strategy := [][]string{{"25%", "25%"}, {"0", "2"}, {"3", "0"}, {"100%", "50%"}}[seed%4]
				b.create(rolling(strategy[0], strategy[1]))
				stop := b.run()
				b.Settle(time.Minute)
				limits := func(replicas int) (most, least int) {
					return replicas + map[uint64][]int{0: {3, 5}, 1: {0, 0}, 2: {3, 3}, 3: {10, 20}}[seed%4][replicas/10-1], 0
				}
				most, _ := limits(10)
				floor := []int{8, 8, 10, 5}[seed%4]
				b.fleet.expect(most, floor)
				b.Intercept(controllertest.NewRandom(seed, 2).Faults(25))
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
						time.Sleep(random.Milliseconds(20000))
					}
					time.Sleep(random.Milliseconds(1500))
				}
				b.Intercept(nil)
				b.change(image("last"), paused(false))
				b.Settle(30 * time.Minute)
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
