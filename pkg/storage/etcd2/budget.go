package etcd2

import (
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

const (
	// maxRequestTime is the age after which a request starts no further step on
	// etcd; a create's age counts from its claim. A call takes about as long again
	// at most, so when etcd hangs a request takes 5 seconds. No request continues
	// what has been half done for longer.
	maxRequestTime = 2500 * time.Millisecond
	// claimPatience is how long another request's claim must stay unchanged, with no
	// task, to count as orphaned: that request starts no further step then.
	claimPatience = maxRequestTime + 100*time.Millisecond
	// maxClaimTime is the age after which a request stops trying to claim.
	maxClaimTime = claimPatience + 600*time.Millisecond
	// grace is how long an inconsistency must stay unchanged before it is repaired.
	// A request at work looks inconsistent too: it starts its last step within
	// maxRequestTime, and etcd carries out a step, or gives it up, within 7 seconds.
	// What a process finds at its start is repaired at the second look.
	grace = maxRequestTime + 7*time.Second
	// swapTime bounds how long the swap of a list is retried while other apiservers
	// keep changing it.
	swapTime = 2 * time.Second
	// writerPatience bounds how long a request waits for others that write the same
	// list: it may take 5 seconds in all when etcd hangs.
	writerPatience = 2 * time.Second
)

// clock is where the store takes the time from.
type clock struct {
	now   func() time.Time
	sleep func(time.Duration)
	after func(time.Duration) <-chan time.Time
}

// budget is the time that a request has.
type budget struct {
	operation string
	began     time.Time
	clock     *clock
}

// budget begins the time of a request, or goes on with that of one which has begun.
func (c *clock) budget(change storage.Change) budget {
	b := budget{operation: change.InWords(), began: change.Began, clock: c}
	if b.began.IsZero() {
		b.began = c.now()
	}
	return b
}

// left returns nil while there is time left, and an api.Unavailable error when
// there is none: etcd is slow.
func (b budget) left() error {
	if b.clock.now().Sub(b.began) > maxRequestTime {
		return &api.Error{Kind: api.Unavailable, Message: b.operation + ": the store is too slow; try again"}
	}
	return nil
}
