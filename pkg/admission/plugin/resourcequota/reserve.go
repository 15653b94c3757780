package resourcequota

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// reserve reserves a place for an object. It reports whether the request may have a reservation now,
// which is possible after some errors too.
func (p *Plugin) reserve(ctx context.Context, c *counter, request, id string) (mayHave bool, err error) {
	if err := c.takeTurn(ctx, p.patience); err != nil {
		return false, err
	}
	defer c.endTurn()
	_, err = storage.GuaranteedUpdate(p.objects, keyOf(c.id), func(stored *storage.Object) (api.Object, error) {
		next, err := p.reserved(c, stored, request, id)
		mayHave = err == nil
		return next, err
	})
	return mayHave, err
}

// tryReserve returns the error that reserve would return.
func (p *Plugin) tryReserve(c *counter, request, id string) error {
	stored, err := p.objects.Get(keyOf(c.id))
	if err != nil && api.KindOf(err) != api.NotFound {
		return err
	}
	_, err = p.reserved(c, stored, request, id)
	return err
}

// reserved returns the object with one more reservation, which replaces an earlier one of the same
// request. It reads the time before it lists the objects: if a reservation has expired by then, its
// object is in the list.
func (p *Plugin) reserved(c *counter, stored *storage.Object, request, id string) (api.Object, error) {
	now := p.Now()
	list, err := p.objects.List(storage.InDefault(c.kind))
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(reservationsIn(stored), func(one reservation) bool { return one.Request == request || !now.Before(one.Until) })
	if used, has := count(list.Items, others, id); !has && used >= c.hard {
		return nil, &exceededError{c.limit, used}
	}
	return quotaOf(c.id, append(others, reservation{request, id, now.Add(lifetime).UTC()}))
}

var errNothing = errors.New("there is no such reservation")

// release removes the reservation of a request. If that fails, the reservation expires.
func (p *Plugin) release(c *counter, request string) {
	err := c.takeTurn(context.Background(), p.patience)
	if err == nil {
		defer c.endTurn()
		_, err = storage.GuaranteedUpdate(p.objects, keyOf(c.id), func(stored *storage.Object) (api.Object, error) {
			all := reservationsIn(stored)
			others := slices.DeleteFunc(slices.Clone(all), func(one reservation) bool { return one.Request == request })
			if len(others) == len(all) {
				return nil, errNothing
			}
			return quotaOf(c.id, others)
		})
	}
	if err != nil && !errors.Is(err, errNothing) {
		log.Printf("quota: a place for one of %s stays reserved for up to %v: %s", c.id, lifetime, api.InFull(err))
	}
}

// storeTime is the time that a request needs after its turn has come, to reserve a place or to
// receive an error of the store.
const storeTime = 5 * time.Second

// takeTurn waits until no other request of this process changes the reservations. Without turns, each
// update would make all others start again.
func (c *counter) takeTurn(ctx context.Context, patience time.Duration) error {
	select { // without waiting, little time is enough
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

// tooMany refuses a request whose turn has not come in time.
func tooMany(c *counter) error {
	return apierrors.NewTooManyRequests(fmt.Sprintf("too many requests count %s at once; please try again later", c.id), 1)
}
