package plugin

import (
	"context"
	"encoding/json"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/admission"
)

type namespaceExists struct {
	changes
	exists func(namespace string) bool
}

// NewNamespaceExists returns a factory of a plugin that refuses to store objects in a namespace that
// does not exist. Exists is called concurrently.
func NewNamespaceExists(exists func(namespace string) bool) admission.Factory {
	return func(configuration json.RawMessage) (admission.Interface, error) {
		return withoutConfiguration(namespaceExists{exists: exists}, configuration)
	}
}

// Admit implements admission.MutationInterface, because this error comes before all others.
func (n namespaceExists) Admit(_ context.Context, a *admission.Attributes) error {
	switch resource := a.Resource.GroupResource(); {
	case a.Namespace == "", resource == corev1.Resource("namespaces"):
		return nil
	case resource == authorizationv1.Resource("localsubjectaccessreviews"): // they must not reveal which namespaces exist
		return nil
	case n.exists(a.Namespace):
		return nil
	}
	return apierrors.NewNotFound(corev1.Resource("namespaces"), a.Namespace)
}
