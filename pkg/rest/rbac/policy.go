package rbac

import (
	"errors"
	"log"
	"slices"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Policy has the roles and bindings in the cache of a store, for an authorizer that reads them for
// each request. It sees the changes of this process at once, those of other apiservers as soon as
// the cache does. Each object is converted once, when it is first needed. It is safe for concurrent
// use; the objects that it returns are shared and must not be changed.
type Policy struct {
	objects storage.Interface
	mu      sync.Mutex // held while the snapshot is replaced
	latest  atomic.Pointer[snapshot]
}

// policyKinds are the kinds of objects in a policy.
var policyKinds = [4]api.Kind{rows.clusterRoleBindings.Stored, rows.roleBindings.Stored, rows.clusterRoles.Stored, rows.roles.Stored}

// snapshot is the immutable state of a policy.
type snapshot struct {
	changed             [4]uint64 // the versions of the last changes, in the order of policyKinds
	roles               converted[*rbacv1.Role]
	roleBindings        converted[*rbacv1.RoleBinding]
	clusterRoles        converted[*rbacv1.ClusterRole]
	clusterRoleBindings converted[*rbacv1.ClusterRoleBinding]
}

// converted has the objects of a kind. Unreadable ones are nil in byKey, and missing from in.
type converted[T rest.Object] struct {
	stored []*storage.Object
	byKey  map[rest.Key]func() T
	in     func() map[string][]T // by namespace, sorted by name
}

func (c converted[T]) get(key rest.Key) (object T) {
	if convert := c.byKey[key]; convert != nil {
		object = convert()
	}
	return object
}

func (c converted[T]) of(namespace string) []T {
	if c.in == nil { // nothing has been read yet
		return nil
	}
	return c.in()[namespace]
}

func keyOf(stored *storage.Object) rest.Key {
	return rest.Key{Namespace: stored.Key().Namespace, Name: stored.Key().ID}
}

// NewPolicy returns a policy. It may be empty until Load has succeeded.
func NewPolicy(objects storage.Interface) *Policy {
	p := &Policy{objects: objects}
	p.latest.Store(&snapshot{})
	return p
}

// Load fills the store's cache and keeps it following the changes of other apiservers. It may be
// called again after an error.
func (p *Policy) Load() error {
	list, err := p.objects.List(selectionOf(rows.clusterRoles))
	if err != nil {
		return err
	}
	watcher, err := p.objects.Watch(selectionOf(rows.clusterRoles), list.Version)
	if err == nil {
		watcher.Stop() // the cache continues to follow
	}
	return err
}

// ClusterRole returns a cluster role, nil if there is none.
func (p *Policy) ClusterRole(name string) *rbacv1.ClusterRole {
	return p.snapshot().clusterRoles.get(rest.Key{Name: name})
}

// Role returns a role of a namespace, nil if there is none.
func (p *Policy) Role(namespace, name string) *rbacv1.Role {
	return p.snapshot().roles.get(rest.Key{Namespace: namespace, Name: name})
}

// ClusterRoleBindings returns all cluster role bindings, sorted by name.
func (p *Policy) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	return p.snapshot().clusterRoleBindings.of("")
}

// RoleBindings returns the role bindings of a namespace, sorted by name.
func (p *Policy) RoleBindings(namespace string) []*rbacv1.RoleBinding {
	return p.snapshot().roleBindings.of(namespace)
}

// snapshot returns the present state. If the cache cannot be read, it returns the last state.
func (p *Policy) snapshot() *snapshot {
	reader := p.objects.Cached()
	changed, err := changes(reader)
	if last := p.latest.Load(); err != nil || last.changed == changed {
		return last
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.latest.Load()
	if changed, err = changes(reader); err != nil || last.changed == changed {
		return last // another goroutine was first
	}
	// Changes after this may already be in the lists, or come with the next snapshot. Bindings are
	// read first: a snapshot with a new binding also has its role, which is usually older.
	next := &snapshot{changed: changed}
	var errs [4]error
	next.clusterRoleBindings, errs[0] = update(reader, rows.clusterRoleBindings, last.clusterRoleBindings)
	next.roleBindings, errs[1] = update(reader, rows.roleBindings, last.roleBindings)
	next.clusterRoles, errs[2] = update(reader, rows.clusterRoles, last.clusterRoles)
	next.roles, errs[3] = update(reader, rows.roles, last.roles)
	if errors.Join(errs[:]...) != nil {
		return last
	}
	p.latest.Store(next)
	return next
}

func selectionOf(row rest.Resource) storage.Selection { return storage.Selection{Kind: row.Stored} }

// changes returns the versions of the last changes, in the order of policyKinds.
func changes(reader storage.Reader) (changed [4]uint64, err error) {
	for i, kind := range policyKinds {
		if changed[i], err = reader.Changed(kind); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// update returns the objects of a kind that a reader has. Those that have not changed stay converted.
func update[T rest.Object](reader storage.Reader, row rest.Resource, last converted[T]) (converted[T], error) {
	list, err := reader.List(selectionOf(row))
	if err != nil || slices.Equal(list.Items, last.stored) {
		return last, err
	}
	known := make(map[*storage.Object]func() T, len(last.stored))
	for _, stored := range last.stored {
		known[stored] = last.byKey[keyOf(stored)]
	}
	converter := v1.NewConverter(row.Kind, row.Stored, row.Types())
	next := converted[T]{stored: list.Items, byKey: make(map[rest.Key]func() T, len(list.Items))}
	for _, stored := range list.Items {
		object := known[stored]
		if object == nil {
			object = sync.OnceValue(func() T { return convert[T](converter, stored) })
		}
		next.byKey[keyOf(stored)] = object
	}
	next.in = sync.OnceValue(next.byNamespace)
	return next, nil
}

func (c converted[T]) byNamespace() map[string][]T {
	in := map[string][]T{}
	for _, stored := range c.stored {
		key := keyOf(stored)
		if object := c.get(key); rest.Object(object) != rest.Object(*new(T)) {
			in[key.Namespace] = append(in[key.Namespace], object)
		}
	}
	return in
}

// convert returns a stored object in the API's version, nil if it is unreadable: then it grants nothing.
func convert[T rest.Object](converter v1.Converter, stored *storage.Object) (object T) {
	converted, err := converter.Out(stored.Object)
	if err != nil {
		log.Printf("%s %s gives nobody any right: %s", stored.Key().Kind, api.Quote(stored.Key().ID), api.Printable(err.Error(), ' '))
		return object
	}
	return converted.(T)
}
