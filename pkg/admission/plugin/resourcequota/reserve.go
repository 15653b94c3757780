package resourcequota

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
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

// reservation is the place that a request has reserved for an object.
type reservation struct {
	Request string    `json:"request"` // two requests may want to create the same object
	ID      string    `json:"id"`      // of the object
	Until   time.Time `json:"until"`
}

// reservationsIn returns the reservations in a stored object, which may be nil. An object that cannot
// be read has none.
func reservationsIn(stored *storage.Object) (all []reservation) {
	if stored == nil || json.Unmarshal([]byte(stored.Meta().Remainder), &all) != nil {
		return nil
	}
	return all
}

// keyOf returns the key of the object with the reservations of a resource. No API serves it.
func keyOf(resource string) api.Key { return api.DefaultKey("quotas", resource) }

// quotaOf returns an object with reservations.
func quotaOf(id string, all []reservation) (api.Object, error) {
	key := keyOf(id)
	quota := &api.Any{Kind: key.Kind, ID: key.ID, ObjectMeta: api.ObjectMeta{Namespace: key.Namespace}}
	if len(all) == 0 {
		return quota, nil
	}
	text, err := json.Marshal(all)
	quota.Remainder = string(text)
	return quota, err
}

// count returns the number of stored and reserved objects, and whether an id is one of theirs. The
// list is sorted by id.
func count(list []*storage.Object, reserved []reservation, id string) (used int64, has bool) {
	isStored := func(id string) bool {
		_, found := slices.BinarySearchFunc(list, id, func(object *storage.Object, id string) int { return strings.Compare(object.Key().ID, id) })
		return found
	}
	has = isStored(id)
	more := map[string]bool{}
	for _, one := range reserved {
		has = has || one.ID == id
		if !isStored(one.ID) {
			more[one.ID] = true
		}
	}
	return int64(len(list) + len(more)), has
}
