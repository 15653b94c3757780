package plugin

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
)

// Namespaces tells in which namespaces objects may be. Its methods are called concurrently. Their errors are those
// that clients get.
type Namespaces interface {
	// Exists returns an error if a namespace does not exist.
	Exists(namespace string) error
	// MayCreate returns an error if no object of a resource can be created in a namespace. The name may be "".
	MayCreate(namespace string, resource schema.GroupResource, name string) error
}

// WantsNamespaces is a plugin that needs the namespaces before the first request.
type WantsNamespaces interface{ SetNamespaces(Namespaces) }

type namespaceExists struct {
	admission.Operations
	namespaces Namespaces
}

var _ WantsNamespaces = (*namespaceExists)(nil)

// NewNamespaceExists creates a plugin that refuses to store objects in a namespace that does not exist, or new ones in
// one that is being deleted.
var NewNamespaceExists = WithoutConfiguration(func() admission.Interface { return &namespaceExists{Operations: admission.Writes} })

// SetNamespaces implements WantsNamespaces.
func (n *namespaceExists) SetNamespaces(namespaces Namespaces) { n.namespaces = namespaces }

// Admit implements admission.MutationInterface, because this error comes before all others.
func (n *namespaceExists) Admit(_ context.Context, a *admission.Attributes) error {
	switch resource := a.Resource.GroupResource(); {
	case a.Namespace == "", resource == corev1.Resource("namespaces"):
		return nil
	case resource == authorizationv1.Resource("localsubjectaccessreviews"): // they must not reveal which namespaces exist
		return nil
	case a.Operation == admission.Create:
		return n.namespaces.MayCreate(a.Namespace, resource, admission.NameOf(a))
	}
	return n.namespaces.Exists(a.Namespace)
}
