package etcd2

import (
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

const (
	// maxRequestTime is the age after which a request starts no further step on etcd; a
	// create's age counts from its claim. A call takes at most about as long again, so a
	// request takes 5 seconds when etcd hangs. No request resumes work that has been
	// half done for longer.
	maxRequestTime = 2500 * time.Millisecond
	// claimPatience is how long another request's claim must stay unchanged, without a
	// task, to count as orphaned: by then that request starts no further step.
	claimPatience = maxRequestTime + 100*time.Millisecond
	// maxClaimTime is the age after which a request stops trying to claim.
	maxClaimTime = claimPatience + 600*time.Millisecond
	// grace is how long an inconsistency must stay unchanged before it is repaired. A
	// request in progress looks inconsistent too: it starts its last step within
	// maxRequestTime, and etcd executes or abandons a step within 7 seconds. An
	// inconsistency found at startup is repaired at the second look.
	grace = maxRequestTime + 7*time.Second
	// swapTime bounds how long the swap of a list is retried while other apiservers
	// keep changing it.
	swapTime = 2 * time.Second
	// writerPatience bounds how long a request waits for others that write the same
	// list: it may take 5 seconds in all when etcd hangs.
	writerPatience = 2 * time.Second
)

// clock is the store's source of time.
type clock struct {
	now   func() time.Time
	sleep func(time.Duration)
	after func(time.Duration) <-chan time.Time
}

// budget is the time limit of a request.
type budget struct {
	operation string
	began     time.Time
	clock     *clock
}

// budget returns the budget of the request of a change, which may have begun earlier.
func (c *clock) budget(change storage.Change) budget {
	b := budget{operation: change.InWords(), began: change.Began, clock: c}
	if b.began.IsZero() {
		b.began = c.now()
	}
	return b
}

// check returns an api.Unavailable error if the time is used up, because etcd is
// slow.
func (b budget) check() error {
	if b.clock.now().Sub(b.began) > maxRequestTime {
		return &api.Error{Kind: api.Unavailable, Message: b.operation + ": the store is too slow; try again"}
	}
	return nil
}
