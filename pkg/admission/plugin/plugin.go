// Package plugin has the small admission plugins: they admit or deny everything, check the namespace, limit the resources
// of containers and pods, complete pods, nodes, claims and ingresses, and check requests for certificates.
package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
)

// WithoutConfiguration returns the factory of a plugin that refuses a configuration: its author would expect an effect.
func WithoutConfiguration(create func() admission.Interface) admission.Factory {
	return func(configuration json.RawMessage) (admission.Interface, error) {
		if configuration != nil {
			return nil, errors.New("configuration: the plugin has none")
		}
		return create(), nil
	}
}

// CheckNoConfiguration returns an error for a configuration of a plugin that decides by the objects of a kind.
func CheckNoConfiguration(configuration json.RawMessage, kind string) error {
	if configuration != nil {
		return fmt.Errorf("configuration: the plugin has none; create objects of the kind %s instead, such as by kubectl create", kind)
	}
	return nil
}

// scope is what a plugin decides about. It implements admission.Interface and admission.SelectsResources.
type scope struct {
	admission.Operations
	subresource string
	resources   []schema.GroupResource
}

var _ admission.SelectsResources = scope{}

// The operations of plugins.
var (
	onCreate = admission.Operations{admission.Create}
	onUpdate = admission.Operations{admission.Update}
)

// on returns a scope without subresources.
func on(operations admission.Operations, resources ...schema.GroupResource) scope {
	return scope{Operations: operations, resources: resources}
}

// Selects implements admission.SelectsResources.
func (s scope) Selects(resource schema.GroupResource, subresource string) bool {
	return subresource == s.subresource && slices.Contains(s.resources, resource)
}

// Resize is the subresource of pods by which their resources change.
const Resize = "resize"

// PodIn returns the pod of a change, nil for other objects.
func PodIn(a *admission.Attributes) *corev1.Pod {
	if a.Resource.GroupResource() != corev1.Resource("pods") || a.Subresource != "" {
		return nil
	}
	pod, _ := a.Object.(*corev1.Pod)
	return pod
}
