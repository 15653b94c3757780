package resourcequota

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/rest"
)

// storeTime is what a request needs when it has had its turn: to reserve a place, or to be told that
// the store is away.
const storeTime = 5 * time.Second

// takeTurn waits until no other request of this process changes the reservations: otherwise each
// would make those of all others begin again.
func (c *counter) takeTurn(ctx context.Context, patience time.Duration) error {
	select { // who need not wait may have little time
	case c.turn <- struct{}{}:
		return nil
	default:
	}
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)-storeTime)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-late.C:
		return tooMany(c)
	case <-ctx.Done():
		return rest.CheckTime(ctx)
	}
}

func (c *counter) endTurn() { <-c.turn }

// tooMany is the refusal of a request that has not had its turn in time.
func tooMany(c *counter) error {
	return apierrors.NewTooManyRequests(fmt.Sprintf("too many requests count %s at once; please try again later", c.id), 1)
}
