package rbac

import (
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

// Policy is the roles and bindings of a store, as this process knows them, for an authorizer,
// which asks for each request. It never asks the store: own changes it has at once, those of
// other apiservers as soon as the store's cache has them. Each object is converted once. It is
// safe for concurrent use; what it returns is shared, and nobody changes it.
type Policy struct {
	objects storage.Interface
	mu      sync.Mutex // held by who replaces known
	known   atomic.Pointer[policy]
}

// policyKinds are the kinds of a policy.
var policyKinds = [4]api.Kind{rows.clusterRoleBindings.Stored, rows.roleBindings.Stored, rows.clusterRoles.Stored, rows.roles.Stored}

// policy is what was known after the last change of each kind. It does not change.
type policy struct {
	changed             [4]uint64 // as policyKinds says
	roles               kept[*rbacv1.Role]
	roleBindings        kept[*rbacv1.RoleBinding]
	clusterRoles        kept[*rbacv1.ClusterRole]
	clusterRoleBindings kept[*rbacv1.ClusterRoleBinding]
}

// kept are the objects of a kind.
type kept[T rest.Object] struct {
	stored []*storage.Object
	byName map[string]T // those that can be read
	all    []T          // likewise
}

// NewPolicy returns a policy. Until Load has succeeded it may have nothing.
func NewPolicy(objects storage.Interface) *Policy {
	p := &Policy{objects: objects}
	p.known.Store(&policy{})
	return p
}

// Load asks the store once, and lets it follow what others change from then on. It may be called
// again if it fails.
func (p *Policy) Load() error {
	list, err := p.objects.List(selectionOf(rows.clusterRoles))
	if err != nil {
		return err
	}
	watcher, err := p.objects.Watch(selectionOf(rows.clusterRoles), list.Version)
	if err == nil {
		watcher.Stop() // the store goes on following
	}
	return err
}

// ClusterRole returns a cluster role, nil if there is none.
func (p *Policy) ClusterRole(name string) *rbacv1.ClusterRole {
	return p.now().clusterRoles.byName[name]
}

// Role returns a role of a namespace, nil if there is none.
func (p *Policy) Role(namespace, name string) *rbacv1.Role {
	if namespace != v1.Namespace {
		return nil
	}
	return p.now().roles.byName[name]
}

// ClusterRoleBindings returns all cluster role bindings, sorted by name.
func (p *Policy) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	return p.now().clusterRoleBindings.all
}

// RoleBindings returns those of a namespace, sorted by name.
func (p *Policy) RoleBindings(namespace string) []*rbacv1.RoleBinding {
	if namespace != v1.Namespace {
		return nil
	}
	return p.now().roleBindings.all
}

// now returns what the process knows now.
func (p *Policy) now() *policy {
	reader := p.objects.Cached()
	changed, err := changes(reader)
	if was := p.known.Load(); err != nil || was.changed == changed {
		return was
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.known.Load()
	if changed, err = changes(reader); err != nil || was.changed == changed {
		return was // somebody else was first
	}
	// What changes after that was read may be seen already, or with the next one. Bindings
	// come first: whoever sees a new one sees its role, which is older as a rule.
	next := &policy{changed: changed}
	var errs [4]error
	next.clusterRoleBindings, errs[0] = newest(reader, rows.clusterRoleBindings, was.clusterRoleBindings)
	next.roleBindings, errs[1] = newest(reader, rows.roleBindings, was.roleBindings)
	next.clusterRoles, errs[2] = newest(reader, rows.clusterRoles, was.clusterRoles)
	next.roles, errs[3] = newest(reader, rows.roles, was.roles)
	if slices.ContainsFunc(errs[:], func(err error) bool { return err != nil }) {
		return was
	}
	p.known.Store(next)
	return next
}

func selectionOf(row rest.Resource) storage.Selection {
	if row.Namespaced {
		return storage.InDefault(row.Stored)
	}
	return storage.Selection{Kind: row.Stored}
}

// changes returns when each kind has changed last.
func changes(reader storage.Reader) (changed [4]uint64, err error) {
	for i, kind := range policyKinds {
		if changed[i], err = reader.Changed(kind); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// newest returns the objects of a kind as a reader has them. What has not changed is not
// converted again. What cannot be read gives nobody any right; it is logged once.
func newest[T rest.Object](reader storage.Reader, row rest.Resource, was kept[T]) (kept[T], error) {
	list, err := reader.List(selectionOf(row))
	if err != nil || slices.Equal(list.Items, was.stored) {
		return was, err
	}
	converted := make(map[*storage.Object]T, len(was.stored))
	for _, stored := range was.stored {
		converted[stored] = was.byName[stored.Key().ID] // nil if it cannot be read
	}
	converter := v1.NewConverter(row.Kind, row.Stored, row.Types())
	next := kept[T]{stored: list.Items, byName: make(map[string]T, len(list.Items))}
	for _, stored := range list.Items {
		object, seen := converted[stored]
		if !seen {
			object = convert[T](converter, stored)
		}
		if rest.Object(object) != rest.Object(*new(T)) {
			next.byName[stored.Key().ID] = object
			next.all = append(next.all, object)
		}
	}
	return next, nil
}

// convert returns a stored object in the API's version, nil if it cannot be read.
func convert[T rest.Object](converter v1.Converter, stored *storage.Object) (object T) {
	converted, err := converter.Out(stored.Object)
	if err != nil {
		log.Printf("%s %s gives nobody any right: %s", stored.Key().Kind, api.Quote(stored.Key().ID), api.Printable(err.Error(), ' '))
		return object
	}
	return converted.(T)
}
