package rbac

import (
	"errors"
	"log"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Policy has the roles and bindings in the cache of a store, for an authorizer that reads them for each request. Each object is
// converted once, when it is first needed. It is safe for concurrent use; the objects that it returns are shared and must not be
// changed.
type Policy struct{ *rest.Followed[snapshot] }

// policyKinds are the kinds of objects in a policy.
var policyKinds = []api.Kind{rows.clusterRoles.StoredKind, rows.clusterRoleBindings.StoredKind, rows.roleBindings.StoredKind, rows.roles.StoredKind}

// snapshot is the immutable state of a policy.
type snapshot struct {
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
	return &Policy{rest.Follow(objects, readPolicy, policyKinds...)}
}

// ClusterRole returns a cluster role, nil if there is none.
func (p *Policy) ClusterRole(name string) *rbacv1.ClusterRole {
	return p.Get().clusterRoles.get(rest.Key{Name: name})
}

// Role returns a role of a namespace, nil if there is none.
func (p *Policy) Role(namespace, name string) *rbacv1.Role {
	return p.Get().roles.get(rest.Key{Namespace: namespace, Name: name})
}

// ClusterRoleBindings returns all cluster role bindings, sorted by name.
func (p *Policy) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	return p.Get().clusterRoleBindings.of("")
}

// RoleBindings returns the role bindings of a namespace, sorted by name.
func (p *Policy) RoleBindings(namespace string) []*rbacv1.RoleBinding {
	return p.Get().roleBindings.of(namespace)
}

// readPolicy reads the bindings first: a snapshot with a new binding also has its role, which is usually older.
func readPolicy(reader storage.Reader, last snapshot) (next snapshot, err error) {
	var errs [4]error
	next.clusterRoleBindings, errs[0] = update(reader, rows.clusterRoleBindings, last.clusterRoleBindings)
	next.roleBindings, errs[1] = update(reader, rows.roleBindings, last.roleBindings)
	next.clusterRoles, errs[2] = update(reader, rows.clusterRoles, last.clusterRoles)
	next.roles, errs[3] = update(reader, rows.roles, last.roles)
	return next, errors.Join(errs[:]...)
}

// update returns the objects of a kind that a reader has. Those that have not changed stay converted.
func update[T rest.Object](reader storage.Reader, row rest.Resource, last converted[T]) (converted[T], error) {
	list, err := reader.List(storage.Selection{Kind: row.StoredKind})
	if err != nil || slices.Equal(list.Items, last.stored) {
		return last, err
	}
	known := make(map[*storage.Object]func() T, len(last.stored))
	for _, stored := range last.stored {
		known[stored] = last.byKey[keyOf(stored)]
	}
	converter := v1.NewConverter(row.Kind, row.StoredKind, row.Types())
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
	converted, err := converter.ToVersioned(stored.Object)
	if err != nil {
		log.Printf("%s %s gives nobody any right: %s", stored.Key().Kind, api.Quote(stored.Key().ID), api.Printable(err.Error(), ' '))
		return object
	}
	return converted.(T)
}
