package networking

import (
	"errors"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Repair makes what services hold consistent with them: a server without ranges may have written them. It is safe to run
// on several servers at once. The error joins all failures.
func (a *Allocator) Repair() error {
	services, err := a.List(storage.Selection{Kind: api.ServiceKind})
	if err != nil {
		return err
	}
	var errs []error
	for _, stored := range services.Items {
		errs = append(errs, a.take(stored))
	}
	for _, kind := range []api.Kind{addressKind, portKind} {
		held, err := a.List(storage.Selection{Kind: kind})
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, one := range held.Items {
			errs = append(errs, a.release(one))
		}
	}
	return errors.Join(errs...)
}

// take takes what a service has, but does not hold.
func (a *Allocator) take(stored *storage.Object) error {
	service, err := a.serviceIn(stored.Object)
	if err != nil {
		return err
	}
	var failures []error
	for _, key := range a.heldBy(service) {
		object, err := a.Get(key)
		switch api.KindOf(err) {
		case api.NotFound:
			taken, err := a.holding(key, service)
			if err != nil {
				return err
			}
			_, err = a.Interface.Commit(storage.Create(taken), storage.Change{Key: stored.Key(), Expected: stored.Version(), Action: storage.Check})
			switch api.KindOf(err) {
			case api.AlreadyExists, api.Conflict, api.NotFound: // another server was first
			default:
				failures = append(failures, err)
			}
		case "":
			if owner := a.ownerOf(object); owner != stored.Key() {
				failures = append(failures, fmt.Errorf("services %s/%s and %s/%s both have %s: delete one of them",
					owner.Namespace, owner.ID, stored.Key().Namespace, stored.Key().ID, key.ID))
			}
		default:
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// release deletes what no service holds any more.
func (a *Allocator) release(object *storage.Object) error {
	owner, err := a.Get(a.ownerOf(object))
	if err == nil {
		service, err := a.serviceIn(owner.Object)
		if err != nil || slices.Contains(a.heldBy(service), object.Key()) {
			return err
		}
	}
	if kind := api.KindOf(err); kind != "" && kind != api.NotFound {
		return err
	}
	_, err = a.Interface.Commit(storage.Delete(object.Key(), object.Version()))
	if kind := api.KindOf(err); kind == api.NotFound || kind == api.Conflict {
		return nil
	}
	return err
}

// ownerOf returns the key of the service that holds something, one of no service if that is unknown.
func (a *Allocator) ownerOf(object *storage.Object) api.Key {
	held, err := a.addresses.Out(object.Object)
	if err != nil {
		return api.Key{Kind: api.ServiceKind}
	}
	parent := held.(*networkingv1.IPAddress).Spec.ParentRef
	if parent == nil {
		return api.Key{Kind: api.ServiceKind}
	}
	return api.Key{Kind: api.ServiceKind, Namespace: parent.Namespace, ID: parent.Name}
}
