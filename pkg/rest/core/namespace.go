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

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
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
	store *genericregistry.Store[*corev1.Namespace]
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

func namespaceRows(b rest.Base) []rest.Resource {
	store, rows := namespaceKind.Build(b)
	rows[0] = rows[0].With(namespaces{store, store, store, store, store, store, store})
	return append(rows, rows[0].Subresource("finalize", struct{ rest.Updater }{generic.SubresourceOf(store, "finalize", genericregistry.Strategy[*corev1.Namespace]{
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
	namespaces := namespaceRows(rest.Base{Objects: objects, Now: now})[0].Storage.(namespaces)
	var errs []error
	for _, name := range append(slices.Clone(immortal), corev1.NamespaceNodeLease) {
		if err := namespaces.store.Ensure(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			errs = append(errs, fmt.Errorf("the namespace %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
