package util

import (
	"sync"
	"sync/atomic"
)

// InParallel calls do with 0 to n-1, in that order, in at most a number of goroutines, and waits.
func InParallel(n, goroutines int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, goroutines) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}
