// Package resourcequota is an admission plugin that limits the number of objects of a resource. The
// limit holds for any number of servers over one store.
//
// A server that is about to create an object reserves a place for it, by a conditional update of an
// object that has all reservations of the resource. It reads that object first, then the list of
// stored objects, and counts both. If a reservation is removed between the two, the update fails and
// starts again; one that was removed before belongs to an object in the list, or to one that was not
// stored. The end of the request removes its reservation. If it is unknown whether the object was
// stored, or if the server ends, the reservation expires. Until then fewer objects may be allowed.
//
// The clocks of the servers may differ by at most the lifetime of a reservation minus the longest
// time from admission to the end of a write. So the plugin should be the last one that validates.
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
	// lifetime is the time until a reservation expires. It is longer than any request.
	lifetime = time.Minute
	// maxWait bounds how long a request waits for its turn.
	maxWait = 5 * time.Second
)

// WantsObjects is a plugin that needs the store of the objects, and the catalogs of their resources, before
// the first request. Plugin implements it.
type WantsObjects interface {
	// SetObjects returns an error if the plugin's configuration names a resource that the catalogs do not have.
	SetObjects(storage.Interface, rest.Catalogs) error
}

// Plugin limits the number of objects. Its fields must be set before the first request. It is safe for
// concurrent use.
type Plugin struct {
	// Now returns the time, which must be about the same on all servers.
	Now func() time.Time

	objects  storage.Interface
	patience time.Duration // how long a request waits for its turn
	counters map[schema.GroupResource]*counter
}

var (
	_ admission.ValidationInterface = (*Plugin)(nil)
	_ WantsObjects                  = (*Plugin)(nil)
)

// counter counts the objects of a resource.
type counter struct {
	limit
	kind api.Kind
	id   string        // of the object with the reservations
	turn chan struct{} // a lock: it holds a value while a request of this process changes that object
}

// New creates the plugin from ResourceQuota objects. It is an admission.Factory.
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

// names returns the names of resources that a quota may have.
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

// Idle implements admission.Idler.
func (p *Plugin) Idle(string) bool { return len(p.counters) == 0 }

// place is the state of a request. It has at most one reservation: it needs another one only if it has
// not stored the object of the first.
type place struct {
	request  string // the id of the request
	reserved bool   // it may have a reservation
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a *admission.Attributes) error {
	c := p.counters[a.Resource.GroupResource()]
	if c == nil || a.Subresource != "" || a.Operation != admission.Create && !a.MayCreate {
		return nil
	}
	own, id := admission.Memory[place](a, p), a.Object.GetName()
	if own.request == "" {
		own.request = rand.Text()
	}
	if a.DryRun {
		return refusal(p.tryReserve(c, own.request, id), c, a)
	}
	mayHave, err := p.reserve(ctx, c, own.request, id)
	if mayHave && !own.reserved {
		own.reserved = true
		a.OnEnd(func(known bool) {
			if known {
				p.release(c, own.request)
			}
		})
	}
	return refusal(err, c, a)
}

// refusal converts an error to the answer of a request; nil stays nil.
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

// exceededError is the error of a request that exceeds a quota, in the words of today's server.
type exceededError struct {
	limit
	used int64
}

// Error implements error.
func (e *exceededError) Error() string {
	return fmt.Sprintf("exceeded quota: %s, requested: %s=1, used: %s=%d, limited: %s=%d", e.quota, e.resource, e.resource, e.used, e.resource, e.hard)
}
