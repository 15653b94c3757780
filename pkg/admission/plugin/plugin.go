// Package plugin has the plugins of admission that need no store: those that admit or deny
// everything, that want images pulled, that look for the namespace, and that limit what containers
// and pods use.
package plugin

import (
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/admission"
)

// The names of the plugins. A namespace lifecycle is the existence of a namespace, as none ends.
const (
	NameAlwaysAdmit        = "AlwaysAdmit"
	NameAlwaysDeny         = "AlwaysDeny"
	NameAlwaysPullImages   = "AlwaysPullImages"
	NameNamespaceExists    = "NamespaceExists"
	NameNamespaceLifecycle = "NamespaceLifecycle"
	NameLimitRanger        = "LimitRanger"
)

// withoutConfiguration makes a plugin that has none. Who writes one expects something of it.
func withoutConfiguration(plugin admission.Interface, configuration json.RawMessage) (admission.Interface, error) {
	if configuration != nil {
		return nil, errors.New("configuration: the plugin has none")
	}
	return plugin, nil
}

// changes handles the operations that store an object.
type changes struct{}

// Handles implements admission.Interface.
func (changes) Handles(operation admission.Operation) bool { return operation != admission.Delete }

// podIn returns the pod that a change is about, nil if it is about something else.
func podIn(a *admission.Attributes) *corev1.Pod {
	if a.Resource.GroupResource() != corev1.Resource("pods") || a.Subresource != "" {
		return nil
	}
	pod, _ := a.Object.(*corev1.Pod)
	return pod
}
