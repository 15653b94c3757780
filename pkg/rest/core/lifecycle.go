package core

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Lifecycle is a store that creates an object only if its namespace exists and is not being deleted. A commit also
// requires that the namespace has not changed since, so that no object is left over when its namespace is gone. It is
// safe for concurrent use.
type Lifecycle struct {
	storage.Interface
	catalogs rest.Catalogs
	codec    *v1.Codec
}

var _ storage.Clock = Lifecycle{}

// NewLifecycle returns a store over another one. The catalogs have the resources of its kinds, for errors.
func NewLifecycle(objects storage.Interface, catalogs rest.Catalogs) Lifecycle {
	return Lifecycle{objects, catalogs, v1.NewCodec(coreGroup.WithKind("Namespace"), namespacesKind, v1.Scheme)}
}

// Now implements storage.Clock.
func (l Lifecycle) Now() time.Time { return storage.ClockOf(l.Interface)() }

// Exists returns an error, in the words of today's server, if a namespace does not exist. It may call the store only if
// the cache does not have the namespace.
func (l Lifecycle) Exists(namespace string) error {
	_, err := l.find(namespace, false)
	return err
}

// MayCreate returns an error, in the words of today's server, if no object can be created in a namespace. The name is
// that of the object.
func (l Lifecycle) MayCreate(namespace string, resource schema.GroupResource, name string) error {
	_, err := l.active(namespace, resource, name, false)
	return err
}

// active returns a namespace as find does, or an error if the object cannot be created in it. Before it refuses, it looks
// whether the namespace has been created again since the cache saw it.
func (l Lifecycle) active(namespace string, resource schema.GroupResource, name string, fresh bool) (*storage.Object, error) {
	stored, err := l.find(namespace, fresh)
	if err != nil || stored == nil {
		return nil, err
	}
	if err = l.isActive(stored, resource, name); err != nil && !fresh {
		return l.active(namespace, resource, name, true)
	}
	return stored, err
}

// find returns a namespace, nil for one that cannot be deleted. A fresh one is not from the cache.
func (l Lifecycle) find(namespace string, fresh bool) (*storage.Object, error) {
	if slices.Contains(immortal, namespace) {
		return nil, nil
	}
	key := api.Key{Kind: namespacesKind, ID: namespace}
	if !fresh {
		if stored, err := l.Cached().Get(key); err == nil {
			return stored, nil
		}
	}
	stored, err := l.Get(key)
	return stored, rest.StatusError(err, corev1.Resource("namespaces"), namespace)
}

// isActive returns an error if a namespace is being deleted.
func (l Lifecycle) isActive(stored *storage.Object, resource schema.GroupResource, name string) error {
	object, err := l.codec.ToVersioned(stored.Object)
	if err != nil {
		return err
	}
	namespace := object.(*corev1.Namespace)
	if namespace.DeletionTimestamp == nil {
		return nil
	}
	refusal := apierrors.NewForbidden(resource, name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace.Name))
	refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", namespace.Name), Field: "metadata.namespace"}}
	return refusal
}

// Commit implements storage.Interface. If a namespace has changed since it was read, it is read again.
func (l Lifecycle) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	return storage.CommitChecked(l.Interface, changes, func(fresh bool) ([]storage.Change, error) { return l.checks(changes, fresh) })
}

// checks returns the changes that require the namespaces of new objects as they are.
func (l Lifecycle) checks(changes []storage.Change, fresh bool) (checks []storage.Change, err error) {
	for _, change := range changes {
		if change.Action != storage.Write || change.Expected != storage.Absent && !change.Unconditional() || change.Key.Namespace == "" {
			continue
		}
		var resource schema.GroupResource
		if row := l.catalogs.ByStoredKind(change.Key.Kind); row != nil {
			resource = row.GroupResource()
		}
		namespace, err := l.active(change.Key.Namespace, resource, change.Key.ID, fresh)
		if err != nil {
			return nil, err
		}
		if namespace == nil {
			continue
		}
		checks = append(checks, storage.Change{Key: namespace.Key(), Expected: namespace.Version(), Action: storage.Check})
	}
	return checks, nil
}
