// Package plugin has the small admission plugins: they admit or deny everything, set the pull policy of images, check
// the namespace, and limit the resources of containers and pods.
package plugin

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/admission"
)

// The names of the plugins. NamespaceLifecycle is the same as NamespaceExists.
const (
	NameAlwaysAdmit        = "AlwaysAdmit"
	NameAlwaysDeny         = "AlwaysDeny"
	NameAlwaysPullImages   = "AlwaysPullImages"
	NameNamespaceExists    = "NamespaceExists"
	NameNamespaceLifecycle = "NamespaceLifecycle"
	NameLimitRanger        = "LimitRanger"
)

// WithoutConfiguration returns a plugin, or an error if it has a configuration, whose author would
// expect an effect.
func WithoutConfiguration(plugin admission.Interface, configuration json.RawMessage) (admission.Interface, error) {
	if configuration != nil {
		return nil, errors.New("configuration: the plugin has none")
	}
	return plugin, nil
}

// CheckNoConfiguration returns an error for a configuration of a plugin that decides by the objects of a kind.
func CheckNoConfiguration(configuration json.RawMessage, kind string) error {
	if configuration != nil {
		return fmt.Errorf("configuration: the plugin has none; create objects of the kind %s instead, such as by kubectl create", kind)
	}
	return nil
}

// changes handles the operations that store an object.
type changes struct{}

// Handles implements admission.Interface.
func (changes) Handles(operation admission.Operation) bool { return operation != admission.Delete }

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
