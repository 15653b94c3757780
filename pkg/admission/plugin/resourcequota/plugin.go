// Package resourcequota is an admission plugin that keeps the quotas of a namespace: its objects never use more than a
// quota allows, however many servers are over one store.
//
// A server that is about to store an object reserves what that uses, by a conditional update of an object that has all
// reservations of the quota. It reads that object first, then the list of stored objects, and adds up both. If a
// reservation is removed between the two, the update fails and starts again; one that was removed before belongs to an
// object in the list, or to one that was not stored. The end of the request removes its reservation, and writes the
// status of the quota. If it is unknown whether the object was stored, or if the server ends, the reservation expires.
// Until then less may be allowed.
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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/api"
	"kube2014/pkg/quota"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/util/keylocks"
)

// Name is the name of the plugin.
const Name = "ResourceQuota"

const (
	// lifetime is the time until a reservation expires. It is longer than any request.
	lifetime = time.Minute
	// maxWait bounds how long a request waits for its turn.
	maxWait = 5 * time.Second
)

// Plugin keeps quotas. Its fields must be set before the first request. It is safe for concurrent use.
type Plugin struct {
	admission.Operations
	// Now returns the time, which must be about the same on all servers.
	Now func() time.Time

	objects  storage.Interface
	catalogs rest.Catalogs
	quotas   *plugin.Objects[*corev1.ResourceQuota]
	patience time.Duration           // how long a request waits for its turn
	locks    keylocks.Locks[api.Key] // of quotas: see lock
	measures measures
}

var (
	_ admission.ValidationInterface = (*Plugin)(nil)
	_ admission.SkipsNamespaces     = (*Plugin)(nil)
	_ plugin.WantsObjects           = (*Plugin)(nil)
)

// New creates the plugin. It is an admission.Factory.
func New(configuration json.RawMessage) (admission.Interface, error) {
	return &Plugin{Operations: admission.Writes, Now: time.Now, patience: maxWait}, plugin.CheckNoConfiguration(configuration, "ResourceQuota")
}

// SetObjects implements plugin.WantsObjects.
func (p *Plugin) SetObjects(objects, untraced storage.Interface, catalogs rest.Catalogs) {
	p.objects, p.catalogs = objects, catalogs
	p.quotas = plugin.NewObjects[*corev1.ResourceQuota](untraced, quota.Kind, corev1.SchemeGroupVersion.WithKind("ResourceQuota"))
}

// Idle implements admission.SkipsNamespaces.
func (p *Plugin) Idle(namespace string) bool { return namespace == "" || p.quotas.None(namespace) }

// demand is an object to be stored, and what it needs of quotas.
type demand struct {
	request  string // the id of the request
	resource schema.GroupResource
	row      *rest.Resource
	name     string
	usage    corev1.ResourceList
}

// held is the state of a request: the quotas of which it may have a reservation. It has at most one of each: it needs
// another one only if it has not stored the object of the first.
type held struct {
	request string
	quotas  []string
}

// Validate implements admission.ValidationInterface. First it checks that the object specifies what quotas limit, then
// it reserves.
func (p *Plugin) Validate(ctx context.Context, a *admission.Attributes) error {
	resource := a.Resource.GroupResource()
	if a.Subresource != "" && a.Subresource != plugin.Resize || quota.Ignores(resource) {
		return nil
	}
	quotas, err := p.concerned(a)
	if err != nil || len(quotas) == 0 {
		return err
	}
	row := p.rowOf(resource)
	if row == nil { // what is not stored uses nothing
		return nil
	}
	for _, one := range quotas {
		if err := quota.CheckSpecified(one, a.Object); err != nil {
			return admission.Forbidden(a, fmt.Errorf("failed quota: %s: %w", one.Name, err))
		}
	}
	own := admission.Memory[held](a, p)
	if own.request == "" {
		own.request = rand.Text()
	}
	d := demand{own.request, resource, row, a.Object.GetName(), quota.Usage(resource, a.Object, p.Now())}
	for _, one := range quotas {
		key := api.Key{Kind: quota.Kind, Namespace: a.Namespace, ID: one.Name}
		if a.DryRun {
			err = p.tryReserve(key, d)
		} else {
			err = p.reserveFor(ctx, key, d, own, a)
		}
		if err != nil {
			return refusal(err, key, a)
		}
	}
	return nil
}

// concerned returns the quotas of which a change uses more than before, sorted by name.
func (p *Plugin) concerned(a *admission.Attributes) ([]*corev1.ResourceQuota, error) {
	resource := a.Resource.GroupResource()
	all, err := p.quotas.In(a.Namespace)
	return slices.DeleteFunc(all, func(one *corev1.ResourceQuota) bool {
		if !quota.Covers(one, resource, a.Object) {
			return true
		}
		if a.Operation == admission.Create || a.MayCreate || !quota.Covers(one, resource, a.OldObject) {
			return false
		}
		after, before := quota.Usage(resource, a.Object, p.Now()), quota.Usage(resource, a.OldObject, p.Now())
		return !slices.ContainsFunc(quota.Names(one, resource), func(name corev1.ResourceName) bool {
			more := after[name]
			return more.Cmp(before[name]) > 0
		})
	}), err
}

// rowOf returns the row of a resource with objects in namespaces, nil if there is none. The server creates endpoints
// itself, without admission, so they use nothing.
func (p *Plugin) rowOf(resource schema.GroupResource) *rest.Resource {
	for row := range p.catalogs.Rows() {
		if row.GroupResource() == resource && row.Namespaced && row.StoredKind != "" && row.StoredKind != api.EndpointsKind {
			return row
		}
	}
	return nil
}

// reserveFor reserves of a quota what a request needs. The end of the request releases it.
func (p *Plugin) reserveFor(ctx context.Context, key api.Key, d demand, own *held, a *admission.Attributes) error {
	mayHave, err := p.reserve(ctx, key, d)
	if mayHave && !slices.Contains(own.quotas, key.ID) {
		own.quotas = append(own.quotas, key.ID)
		a.OnEnd(func(known bool) {
			if known {
				p.release(key, d)
			}
		})
	}
	return err
}

// refusal converts an error to the answer of a request; nil stays nil.
func refusal(err error, key api.Key, a *admission.Attributes) error {
	var exceeded *exceededError
	switch {
	case errors.As(err, &exceeded):
		return admission.Forbidden(a, exceeded)
	case api.KindOf(err) == api.Conflict:
		return tooMany(key)
	}
	return rest.StatusError(err, a.Resource.GroupResource(), a.Object.GetName())
}
