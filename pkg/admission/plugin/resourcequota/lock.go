package resourcequota

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
)

// storeTime is the time that a request needs after it has the lock, to reserve or to receive an error of the store.
const storeTime = 5 * time.Second

// lock waits until no other request of this process changes the reservations of a quota: otherwise each update would make
// all others start again.
func (p *Plugin) lock(ctx context.Context, quota api.Key) (unlock func(), err error) {
	patience := p.patience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)-storeTime)
	}
	unlock, locked := p.locks.Lock(ctx, quota, patience)
	if locked {
		return unlock, nil
	}
	unlock()
	if err := rest.CheckTime(ctx); err != nil {
		return nil, err
	}
	return nil, tooMany(quota)
}

// tooMany refuses a request that has waited too long.
func tooMany(quota api.Key) error {
	return apierrors.NewTooManyRequests(fmt.Sprintf("too many requests use the quota %s at once; please try again later", quota.ID), 1)
}
