package resourcequota

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/quota"
	"kube2014/pkg/storage"
)

// reservation is what a request has reserved for an object.
type reservation struct {
	Request  string              `json:"request"` // two requests may want to create the same object
	Resource string              `json:"resource"`
	ID       string              `json:"id"` // of the object
	Usage    corev1.ResourceList `json:"usage"`
	Until    time.Time           `json:"until"`
}

// errNothing ends an update that has nothing to do, because the quota or the reservation is gone.
var errNothing = errors.New("there is no such quota, or reservation")

// reserve reserves of a quota what a request needs, unless the quota is gone. It reports whether the request may have a
// reservation now, which is possible after some errors too.
func (p *Plugin) reserve(ctx context.Context, key api.Key, d demand) (mayHave bool, err error) {
	unlock, err := p.lock(ctx, key)
	if err != nil {
		return false, err
	}
	defer unlock()
	_, err = storage.GuaranteedUpdate(while{p.objects, key}, quota.Reservations(key), func(stored *storage.Object) (api.Object, error) {
		next, err := p.reserved(key, stored, d)
		mayHave = err == nil
		return next, err
	})
	if errors.Is(err, errNothing) {
		return mayHave, nil
	}
	return mayHave, err
}

// while is a store that changes something only while an object exists.
type while struct {
	storage.Interface
	exists api.Key
}

// Commit implements storage.Interface.
func (w while) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	written, err := w.Interface.Commit(append(slices.Clone(changes), storage.Require(w.exists))...)
	return written[:min(len(written), len(changes))], err
}

// Now implements storage.Clock.
func (w while) Now() time.Time { return storage.ClockOf(w.Interface)() }

// tryReserve returns the error that reserve would return.
func (p *Plugin) tryReserve(key api.Key, d demand) error {
	stored, err := p.objects.Get(quota.Reservations(key))
	if err != nil && api.KindOf(err) != api.NotFound {
		return err
	}
	if _, err = p.reserved(key, stored, d); errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// reserved returns the object with one more reservation, which replaces an earlier one of the same request. It reads the
// time before it lists the objects: if a reservation has expired by then, its object is in the list.
func (p *Plugin) reserved(key api.Key, stored *storage.Object, d demand) (api.Object, error) {
	now := p.Now()
	limits, err := p.quota(key)
	if err != nil {
		return nil, err
	}
	uses, err := p.usesOf(limits, d.row)
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(reservationsIn(stored), func(one reservation) bool { return one.Request == d.request || !now.Before(one.Until) })
	for _, one := range others {
		if one.Resource == d.resource.String() {
			uses.raise(one.ID, one.Usage)
		}
	}
	if err := uses.check(limits, d); err != nil {
		return nil, err
	}
	return objectOf(key, append(others, reservation{d.request, d.resource.String(), d.name, d.usage, now.Add(lifetime).UTC()}))
}

// release removes the reservation of a request, and writes the status of the quota. If the former fails, the reservation
// expires.
func (p *Plugin) release(key api.Key, d demand) {
	unlock, err := p.lock(context.Background(), key)
	if err == nil {
		defer unlock()
		_, err = storage.GuaranteedUpdate(while{p.objects, key}, quota.Reservations(key), func(stored *storage.Object) (api.Object, error) {
			all := reservationsIn(stored)
			others := slices.DeleteFunc(slices.Clone(all), func(one reservation) bool { return one.Request == d.request })
			if len(others) == len(all) {
				return nil, errNothing
			}
			if _, err := p.quota(key); err != nil {
				return nil, err
			}
			return objectOf(key, others)
		})
	}
	if err == nil {
		err = p.report(key, d)
	}
	if err != nil && !errors.Is(err, errNothing) {
		log.Printf("quota %s/%s: what a request has reserved stays so for up to %v, or the status is not written: %s", key.Namespace, key.ID, lifetime, api.InFull(err))
	}
}

// reservationsIn returns the reservations in a stored object, which may be nil. An object that cannot be read has none.
func reservationsIn(stored *storage.Object) (all []reservation) {
	if stored == nil || json.Unmarshal(stored.Meta().Remainder.Text(), &all) != nil {
		return nil
	}
	return all
}

// objectOf returns the object with the reservations of a quota. It stays when it has none: its version tells that some
// were removed.
func objectOf(of api.Key, all []reservation) (api.Object, error) {
	key := quota.Reservations(of)
	object := &api.Any{Kind: key.Kind, ID: key.ID, ObjectMeta: api.ObjectMeta{Namespace: key.Namespace}}
	if len(all) == 0 {
		return object, nil
	}
	text, err := json.Marshal(all)
	object.Remainder = api.MakeRemainder(text)
	return object, err
}
