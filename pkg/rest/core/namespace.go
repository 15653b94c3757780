package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

const namespacesKind = "namespaces"

// namespaces is the storage of namespaces. A collection of them cannot be deleted.
type namespaces struct {
	rest.Getter
	rest.Lister
	rest.Watcher
	rest.Creater
	rest.Updater
	rest.Applier
	store *generic.Store[*corev1.Namespace]
}

var namespaceKind = generic.Resource[*corev1.Namespace]{
	Row:  rest.ClusterScoped(coreGroup, "Namespace", namespacesKind, printers.Namespaces, "ns"),
	Name: apivalidation.ValidateNamespaceName,
	Prepare: func(namespace, old *corev1.Namespace) {
		if old != nil {
			namespace.Spec = old.Spec
			return
		}
		namespace.Status.Phase = corev1.NamespaceActive
		if !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes) {
			namespace.Spec.Finalizers = append(namespace.Spec.Finalizers, corev1.FinalizerKubernetes)
		}
	},
	Default:        defaults.Namespace,
	Validate:       validation.Namespace,
	ValidateStatus: validation.NamespaceStatus,
	Fields: func(namespace *corev1.Namespace) fields.Set {
		return fields.Set{"status.phase": string(namespace.Status.Phase)}
	},
	AnswersDeleted:     true,
	BriefPreconditions: true,
	Holds: func(namespace *corev1.Namespace) bool {
		return len(namespace.Spec.Finalizers) > 0 || namespace.DeletionTimestamp == nil // the first delete only marks it
	},
	Mark: func(namespace *corev1.Namespace) {
		namespace.DeletionGracePeriodSeconds, namespace.Status.Phase = nil, corev1.NamespaceTerminating
	},
}

func namespaceRows(b generic.Base) []rest.Resource {
	store, rows := namespaceKind.Build(b)
	rows[0] = rows[0].With(namespaces{store, store, store, store, store, store, store})
	return append(rows, rows[0].Subresource("finalize", struct{ rest.Updater }{generic.SubresourceOf(store, "finalize", generic.Strategy[*corev1.Namespace]{
		Default:          defaults.Namespace,
		PrepareForUpdate: func(namespace, old *corev1.Namespace) { namespace.Status = old.Status },
		Resets:           fieldmanager.Fields{"status"},
		ValidateUpdate:   validation.ValidateNamespaceFinalize,
	})}))
}

// New implements rest.Creater and rest.Updater.
func (n namespaces) New() rest.Object { return n.store.New() }

// immortal has the namespaces that cannot be deleted.
var immortal = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

// Delete implements rest.Deleter.
func (n namespaces) Delete(ctx context.Context, key rest.Key, options rest.DeleteOptions) (rest.Answer, error) {
	if slices.Contains(immortal, key.Name) {
		return nil, apierrors.NewForbidden(corev1.Resource("namespaces"), key.Name, errors.New("this namespace may not be deleted"))
	}
	return n.store.Delete(ctx, key, options)
}

// BootstrapNamespaces creates the namespaces that every server has, unless they exist. It is safe to run on several
// servers at once.
func BootstrapNamespaces(ctx context.Context, objects storage.Interface, now func() time.Time) error {
	namespaces := namespaceRows(generic.Base{Objects: objects, Now: now})[0].Storage.(namespaces)
	var errs []error
	for _, name := range append(slices.Clone(immortal), corev1.NamespaceNodeLease) {
		if err := namespaces.store.Ensure(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			errs = append(errs, fmt.Errorf("the namespace %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

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
	object, err := l.codec.Out(stored.Object)
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
