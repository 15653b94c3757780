package resourcequota

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
)

// storeTime is the time that a request needs after its turn has come, to reserve or to receive an error of the store.
const storeTime = 5 * time.Second

// turns are locks for the quotas of this process: without turns, each update would make all others start again. Two
// quotas may have the same lock. A request has one at a time.
type turns [64]turn

// turn is a lock: it holds a value while a request has it.
type turn chan struct{}

func makeTurns() (all turns) {
	for i := range all {
		all[i] = make(turn, 1)
	}
	return all
}

var seed = maphash.MakeSeed()

// take waits until no other request of this process changes the reservations of a quota. The caller calls end.
func (t *turns) take(ctx context.Context, quota api.Key, patience time.Duration) (end func(), err error) {
	own := t[maphash.String(seed, quota.Namespace+"/"+quota.ID)%uint64(len(t))]
	end = func() { <-own }
	select { // without waiting, little time is enough
	case own <- struct{}{}:
		return end, nil
	default:
	}
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)-storeTime)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case own <- struct{}{}:
		return end, nil
	case <-late.C:
		return nil, tooMany(quota)
	case <-ctx.Done():
		return nil, rest.CheckTime(ctx)
	}
}

// tooMany refuses a request whose turn has not come in time.
func tooMany(quota api.Key) error {
	return apierrors.NewTooManyRequests(fmt.Sprintf("too many requests use the quota %s at once; please try again later", quota.ID), 1)
}
