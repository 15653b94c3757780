package resourcequota

import (
	"context"
	"errors"
	"log"
	"slices"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// reserve reserves a place for an object, and reports whether the request may have one now: if the
// store could not even be read, it has none.
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

// reserved returns the reservations with one more, instead of an earlier one of the same request. The
// time is taken before the objects are listed: of what is not reserved any more then, the objects
// are in the list.
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

// release removes the reservation of a request. If that fails, it ends by itself.
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
