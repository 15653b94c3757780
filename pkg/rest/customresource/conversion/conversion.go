// Package conversion converts own resources between the versions of their definition: by itself, or by a webhook.
package conversion

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/webhook"
)

// Converter converts the objects of one definition. It is safe for concurrent use.
type Converter interface {
	// Convert returns the objects in a version, in the same order. It does not change the given ones; those that have
	// the version are returned as they are.
	Convert(ctx context.Context, objects []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error)
}

// New returns the converter of a definition. The resolver finds the address of a service.
func New(crd *apiextensionsv1.CustomResourceDefinition, resolve webhook.ServiceResolver) Converter {
	c := crd.Spec.Conversion
	if c == nil || c.Strategy != apiextensionsv1.WebhookConverter || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return none{}
	}
	return newCaller(c.Webhook, resolve)
}

// none only renames the version.
type none struct{}

func (none) Convert(_ context.Context, objects []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	converted := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		converted[i] = object
		if object.GroupVersionKind().GroupVersion() != to {
			converted[i] = object.DeepCopy()
			converted[i].SetAPIVersion(to.String())
		}
	}
	return converted, nil
}

// failed returns the error of a webhook, in the words of today's server.
func failed(kind schema.GroupVersionKind, format string, args ...any) error {
	return fmt.Errorf("conversion webhook for %v %w", kind, fmt.Errorf(format, args...))
}
