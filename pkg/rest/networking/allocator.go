package networking

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/storage"
)

// The kinds of the objects that stand for what a service holds: a cluster IP, or a node port. Their ids are the address
// and the number. Only the first ones are served.
const (
	addressKind api.Kind = "ipaddresses"
	portKind    api.Kind = "servicenodeports"
)

// maxAttempts bounds how often a commit is tried again because other servers were first.
const maxAttempts = 16

// Allocator is a store that gives services cluster IPs and node ports. What a service holds is an object that is
// written and deleted in the same commit as the service, so that no two services get the same, whichever servers write
// them. A service that June 2014 has made gets nothing before today's API changes it. An Allocator is safe for concurrent
// use.
type Allocator struct {
	storage.Interface
	ranges Ranges
	now    func() time.Time

	services, addresses *v1.Codec
}

var _ storage.Clock = (*Allocator)(nil)

// NewAllocator returns a store over another one, whose commits must be atomic.
func NewAllocator(objects storage.Interface, ranges Ranges, now func() time.Time) *Allocator {
	return &Allocator{Interface: objects, ranges: ranges, now: now,
		services:  v1.NewCodec(corev1.SchemeGroupVersion.WithKind("Service"), api.ServiceKind, v1.Scheme),
		addresses: v1.NewCodec(addressRow.Kind, addressKind, v1.Scheme)}
}

// Now implements storage.Clock.
func (a *Allocator) Now() time.Time { return storage.ClockOf(a.Interface)() }

// Commit implements storage.Interface. The error is a status in the words of today's server if a service cannot get what
// it wants.
func (a *Allocator) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	if !slices.ContainsFunc(changes, changesService) {
		return a.Interface.Commit(changes...)
	}
	for attempt := 1; ; attempt++ {
		all := slices.Clone(changes)
		again := map[api.ErrorKind]bool{api.AlreadyExists: true} // another server was first to take an address
		for i, change := range changes {
			if !changesService(change) {
				continue
			}
			if change.Unconditional() || change.Expected == storage.Present {
				again[api.Conflict], again[api.NotFound] = true, true // the service has changed since it was read
			}
			more, err := a.allocate(&all[i])
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		written, err := a.Interface.Commit(all...)
		if err == nil {
			return written[:len(changes)], nil
		}
		if !again[api.KindOf(err)] || attempt == maxAttempts {
			return nil, err
		}
	}
}

func changesService(change storage.Change) bool {
	return change.Key.Kind == api.ServiceKind && change.Action != storage.Check
}

// allocate completes the service that a change writes, and returns the changes of what it holds. The change then expects
// the version of the service that was read.
func (a *Allocator) allocate(change *storage.Change) (more []storage.Change, err error) {
	var undecodable *storage.Undecodable
	stored, err := a.Get(change.Key)
	switch kind := api.KindOf(err); {
	case kind == api.NotFound && change.Expected != storage.Absent && !change.Unconditional(), kind != "" && kind != api.NotFound && !errors.As(err, &undecodable):
		return nil, err
	case undecodable != nil:
		return nil, nil // what it holds is unknown; Repair releases it
	}
	var before, service *corev1.Service
	if stored != nil {
		if err := storage.CheckExpected(*change, stored); err != nil {
			return nil, err
		}
		if before, err = a.serviceIn(stored.Object); err != nil {
			return nil, err
		}
		change.Expected = stored.Version()
	} else if change.Action == storage.Write {
		change.Expected = storage.Absent
	}
	if change.Action == storage.Write {
		if service, err = a.serviceIn(change.Object); err != nil {
			return nil, err
		}
		if change.Object.Meta().Remainder != "" {
			if err := a.complete(service, before); err != nil {
				return nil, err
			}
			whole, err := a.services.ToInternal(service)
			if err != nil {
				return nil, err
			}
			whole.Inherit(change.Object)
			change.Object = whole
		}
	}
	had, has := a.heldBy(before), a.heldBy(service)
	for _, key := range has {
		if !slices.Contains(had, key) {
			taken, err := a.holding(key, service)
			if err != nil {
				return nil, err
			}
			more = append(more, storage.Create(taken))
		}
	}
	for _, key := range had {
		if !slices.Contains(has, key) {
			more = append(more, storage.Delete(key, storage.Any))
		}
	}
	return more, nil
}

// serviceIn returns a stored service as the API has it. The caller owns the result.
func (a *Allocator) serviceIn(object api.Object) (*corev1.Service, error) {
	service, err := a.services.ToVersioned(object)
	if err != nil {
		return nil, err
	}
	return service.(*corev1.Service).DeepCopy(), nil
}

// holding returns the object that stands for what a service holds.
func (a *Allocator) holding(key api.Key, service *corev1.Service) (api.Object, error) {
	object := &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: key.ID, CreationTimestamp: metav1.Time{Time: a.now().UTC()}.Rfc3339Copy()},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: service.Namespace, Name: service.Name}}}
	if key.Kind == addressKind {
		object.Labels = map[string]string{networkingv1.LabelIPAddressFamily: string(a.ranges.Family()), networkingv1.LabelManagedBy: "ipallocator.k8s.io"}
	}
	stored, err := a.addresses.ToInternal(object)
	if err != nil {
		return nil, err
	}
	stored.(*api.Any).Kind = key.Kind
	return stored, nil
}

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
	held, err := a.addresses.ToVersioned(object.Object)
	if err != nil {
		return api.Key{Kind: api.ServiceKind}
	}
	parent := held.(*networkingv1.IPAddress).Spec.ParentRef
	if parent == nil {
		return api.Key{Kind: api.ServiceKind}
	}
	return api.Key{Kind: api.ServiceKind, Namespace: parent.Namespace, ID: parent.Name}
}
