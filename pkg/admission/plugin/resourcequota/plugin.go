// Package resourcequota is a plugin of admission that limits how many objects of a resource there
// are. There are never more, with any number of servers over one store.
//
// A server that is about to create an object reserves a place for it, by a conditional update of an
// object that has all reservations of the resource. It first reads that object, then the list of what
// is there: what is stored, and what is reserved, counts. A reservation that was removed between the
// two makes the update begin again; one that was removed before belongs to an object that is in the
// list, or was not stored. When the request has ended, its reservation is removed; if nobody knows
// whether the object was stored, or if the server has ended, the reservation ends by itself. Until
// then there may be fewer objects than allowed.
//
// This relies on the clocks of the servers: they must not differ by more than a reservation lasts
// beyond the longest time between admission and the end of a write. So the plugin should be the last
// one that checks.
package resourcequota

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Name is the name of the plugin.
const Name = "ResourceQuota"

const (
	// lifetime is how long a reservation lasts at most: longer than a request that stores something.
	lifetime = time.Minute
	// maxWait is how long a request waits for its turn.
	maxWait = 5 * time.Second
)

// WantsObjects is a plugin that needs the store of the objects, and the catalogs of their resources, before
// the first request.
type WantsObjects interface {
	// SetObjects returns an error if the plugin's configuration names what the catalogs do not have.
	SetObjects(storage.Interface, rest.Catalogs) error
}

// Plugin limits how many objects there are. Its fields are to be set before the first request. It is
// safe for concurrent use.
type Plugin struct {
	// Now is the time. That of all servers must be about the same.
	Now func() time.Time

	objects  storage.Interface
	patience time.Duration // of a request that waits for its turn
	counters map[schema.GroupResource]*counter
}

var (
	_ admission.ValidationInterface = (*Plugin)(nil)
	_ WantsObjects                  = (*Plugin)(nil)
)

// counter is what is known of a resource whose objects are counted.
type counter struct {
	limit
	kind api.Kind
	id   string        // of the object that has the reservations
	turn chan struct{} // holds a value while a request of this process changes that object
}

// New makes the plugin of ResourceQuota objects. It is an admission.Factory.
func New(configuration json.RawMessage) (admission.Interface, error) {
	limits, err := limitsIn(configuration)
	if err != nil {
		return nil, err
	}
	p := &Plugin{Now: time.Now, patience: maxWait, counters: map[schema.GroupResource]*counter{}}
	for resource, limit := range limits {
		p.counters[resource] = &counter{limit: limit, id: resource.String(), turn: make(chan struct{}, 1)}
	}
	return p, nil
}

// SetObjects implements WantsObjects.
func (p *Plugin) SetObjects(objects storage.Interface, catalogs rest.Catalogs) error {
	p.objects = objects
	kinds := countable(catalogs)
	for resource, counter := range p.counters {
		if counter.kind = kinds[resource]; counter.kind == "" {
			return fmt.Errorf("%s: only objects are counted, of %s", counter.at, names(kinds))
		}
	}
	return nil
}

// names returns what a quota may call resources.
func names(kinds map[schema.GroupResource]api.Kind) string {
	var all []string
	for resource := range kinds {
		name := resource.String()
		if resource.Group != "" {
			name = "count/" + name
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Handles implements admission.Interface.
func (p *Plugin) Handles(operation admission.Operation) bool { return operation != admission.Delete }

// place is what a request has reserved. It has at most one reservation: it asks for another one only
// if it has not stored the object of the first.
type place struct {
	request string
	asked   bool // it may have a reservation
}

type placeKey struct{}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a *admission.Attributes) error {
	c := p.counters[a.Resource.GroupResource()]
	if c == nil || a.Subresource != "" || a.Operation != admission.Create && !a.MayCreate {
		return nil
	}
	own, id := admission.Memory[place](a, placeKey{}), a.Object.GetName()
	if own.request == "" {
		own.request = rand.Text()
	}
	if a.DryRun {
		return refusal(p.tryReserve(c, own.request, id), c, a)
	}
	mayHave, err := p.reserve(ctx, c, own.request, id)
	if mayHave && !own.asked {
		own.asked = true
		a.OnEnd(func(known bool) {
			if known {
				p.release(c, own.request)
			}
		})
	}
	return refusal(err, c, a)
}

// refusal returns an error as the answer to a request; nil stays nil.
func refusal(err error, c *counter, a *admission.Attributes) error {
	var exceeded *exceededError
	switch {
	case errors.As(err, &exceeded):
		return admission.Forbidden(a, exceeded)
	case api.KindOf(err) == api.Conflict:
		return tooMany(c)
	}
	return rest.StatusError(err, a.Resource.GroupResource(), a.Object.GetName())
}

// exceededError is the refusal of one object more, in the words of today's server.
type exceededError struct {
	limit
	used int64
}

// Error implements error.
func (e *exceededError) Error() string {
	return fmt.Sprintf("exceeded quota: %s, requested: %s=1, used: %s=%d, limited: %s=%d", e.quota, e.resource, e.resource, e.used, e.resource, e.hard)
}
