package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Each part is stopped and started again at any moment, and the server is away now and then, by a
// fixed schedule on a fake clock. TestPartsThatAreKilledLoseNothing does so to real processes.
func TestPartsThatStopAndComeBackLoseNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startCluster(t, "-run apiserver -scheduler none -machines 127.0.0.1,127.0.0.2,127.0.0.3")
				var mu sync.Mutex
				paces := rand.New(rand.NewPCG(seed, 6))
				c.slow = func() {
					mu.Lock()
					pause := 1 + paces.IntN(20)
					mu.Unlock()
					time.Sleep(time.Duration(pause) * time.Millisecond)
				}
				u := &upheaval{t: t, client: c.client, random: rand.New(rand.NewPCG(seed, 2014)), patience: 10 * time.Minute}
				for _, flags := range []string{"-run scheduler", "-run controller_manager", "-run proxy",
					"-run kubelet -machines 127.0.0.1", "-run kubelet -machines 127.0.0.2", "-run kubelet -machines 127.0.0.3"} {
					stop := c.run(flags)
					u.victims = append(u.victims, victim{flags, func() { stop() }, func() { stop = c.run(flags) }})
				}
				u.victims = append(u.victims, victim{"server", c.network.Cut, c.network.Mend})
				u.begin()
				for range 10 {
					u.rise()
				}
			})
		})
	}
}
