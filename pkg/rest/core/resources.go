// Package core is the table of the second door's resources: for each kind its strategy,
// and what its storage does besides.
package core

import (
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

// Placer stores a new pod, on a machine or without one.
type Placer interface {
	Create(task *api.Task) (*storage.Object, error)
}

var (
	coreGroup      = corev1.SchemeGroupVersion
	discoveryGroup = discoveryv1.SchemeGroupVersion

	inAll = []string{"all"} // what kubectl get all shows
)

// base is what all storages of the table share.
type base struct {
	objects storage.Interface
	codec   *v1.Codec
	turns   *generic.Turns
	now     func() time.Time
}

// Config is what the resources need.
type Config struct {
	Objects  storage.Interface
	Scheme   v1.Converter
	Placer   Placer
	Now      func() time.Time
	EventTTL time.Duration // how long an event stays after its last change; 0 is for ever
	Kubelets Kubelets      // nil for none
}

// Resources returns the table.
func Resources(c Config) []rest.Resource {
	b := base{c.Objects, &v1.Codec{Scheme: c.Scheme}, &generic.Turns{}, c.Now}
	pods, controllers, services, nodes := makePods(b, c.Placer), makeControllers(b), makeServices(b), makeNodes(b)
	return []rest.Resource{
		{GroupVersion: coreGroup, Name: "bindings", Kind: coreGroup.WithKind("Binding"), Singular: "binding", Namespaced: true, Storage: bindings{pods}},
		{GroupVersion: coreGroup, Name: "endpoints", Kind: coreGroup.WithKind("Endpoints"), Singular: "endpoints", ShortNames: []string{"ep"}, Namespaced: true,
			Storage: makeEndpoints(b), Printer: printers.Endpoints,
			Warning: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"},
		{GroupVersion: coreGroup, Name: "events", Kind: coreGroup.WithKind("Event"), Singular: "event", ShortNames: []string{"ev"}, Namespaced: true,
			Storage: makeEvents(b, c.EventTTL), Printer: printers.Events},
		{GroupVersion: coreGroup, Name: "namespaces", Kind: coreGroup.WithKind("Namespace"), Singular: "namespace", ShortNames: []string{"ns"},
			Storage: namespaces{}, Printer: printers.Namespaces},
		{GroupVersion: coreGroup, Name: "nodes", Kind: coreGroup.WithKind("Node"), Singular: "node", ShortNames: []string{"no"},
			Storage: nodes, Printer: printers.Nodes},
		{GroupVersion: coreGroup, Name: "nodes/status", Kind: coreGroup.WithKind("Node"), Storage: subresource(nodes, nodeStatusStrategy), Printer: printers.Nodes},
		{GroupVersion: coreGroup, Name: "pods", Kind: coreGroup.WithKind("Pod"), Singular: "pod", ShortNames: []string{"po"}, Categories: inAll, Namespaced: true,
			Storage: pods, Printer: printers.Pods},
		{GroupVersion: coreGroup, Name: "pods/binding", Kind: coreGroup.WithKind("Binding"), Namespaced: true, Storage: podBinding{pods}},
		{GroupVersion: coreGroup, Name: "pods/log", Kind: coreGroup.WithKind("Pod"), Namespaced: true, Storage: podLog{pods, c.Kubelets}},
		{GroupVersion: coreGroup, Name: "pods/status", Kind: coreGroup.WithKind("Pod"), Namespaced: true,
			Storage: subresource(pods, podStatusStrategy), Printer: printers.Pods},
		{GroupVersion: coreGroup, Name: "replicationcontrollers", Kind: coreGroup.WithKind("ReplicationController"), Singular: "replicationcontroller",
			ShortNames: []string{"rc"}, Categories: inAll, Namespaced: true, Storage: controllers, Printer: printers.ReplicationControllers},
		{GroupVersion: coreGroup, Name: "replicationcontrollers/scale", Kind: autoscalingv1.SchemeGroupVersion.WithKind("Scale"), Namespaced: true,
			Storage: scale{controllers}, Printer: printers.Scales},
		{GroupVersion: coreGroup, Name: "replicationcontrollers/status", Kind: coreGroup.WithKind("ReplicationController"), Namespaced: true,
			Storage: subresource(controllers, controllerStatusStrategy), Printer: printers.ReplicationControllers},
		{GroupVersion: coreGroup, Name: "services", Kind: coreGroup.WithKind("Service"), Singular: "service", ShortNames: []string{"svc"}, Categories: inAll,
			Namespaced: true, Storage: services, Printer: printers.Services},
		{GroupVersion: coreGroup, Name: "services/status", Kind: coreGroup.WithKind("Service"), Namespaced: true,
			Storage: subresource(services, serviceStatusStrategy), Printer: printers.Services},

		{GroupVersion: discoveryGroup, Name: "endpointslices", Kind: discoveryGroup.WithKind("EndpointSlice"), Singular: "endpointslice", Namespaced: true,
			Storage: endpointSlices{b}, Printer: printers.EndpointSlices},
	}
}

// countGeneration counts a change of what an object should be.
func countGeneration(object rest.Object, spec, old interface{}) {
	if !equality.Semantic.DeepEqual(spec, old) {
		object.SetGeneration(object.GetGeneration() + 1)
	}
}

// subresource returns the storage of a part of the objects of a store: they are read and
// updated there, by a strategy of its own.
func subresource[T rest.Object](store *generic.Store[T], strategy func() generic.Strategy[T]) part {
	own := store.With(strategy())
	return part{own, own}
}

type part struct {
	rest.Getter
	rest.Updater
}

// Types has the Go type of each kind that the resources have, their lists included.
func Types() map[schema.GroupVersionKind]interface{} {
	return map[schema.GroupVersionKind]interface{}{
		coreGroup.WithKind("Binding"):                      corev1.Binding{},
		coreGroup.WithKind("Endpoints"):                    corev1.Endpoints{},
		coreGroup.WithKind("EndpointsList"):                corev1.EndpointsList{},
		coreGroup.WithKind("Event"):                        corev1.Event{},
		coreGroup.WithKind("EventList"):                    corev1.EventList{},
		coreGroup.WithKind("Namespace"):                    corev1.Namespace{},
		coreGroup.WithKind("NamespaceList"):                corev1.NamespaceList{},
		coreGroup.WithKind("Node"):                         corev1.Node{},
		coreGroup.WithKind("NodeList"):                     corev1.NodeList{},
		coreGroup.WithKind("Pod"):                          corev1.Pod{},
		coreGroup.WithKind("PodList"):                      corev1.PodList{},
		coreGroup.WithKind("ReplicationController"):        corev1.ReplicationController{},
		coreGroup.WithKind("ReplicationControllerList"):    corev1.ReplicationControllerList{},
		coreGroup.WithKind("Service"):                      corev1.Service{},
		coreGroup.WithKind("ServiceList"):                  corev1.ServiceList{},
		coreGroup.WithKind("Status"):                       metav1.Status{},
		coreGroup.WithKind("DeleteOptions"):                metav1.DeleteOptions{},
		coreGroup.WithKind("WatchEvent"):                   metav1.WatchEvent{},
		autoscalingv1.SchemeGroupVersion.WithKind("Scale"): autoscalingv1.Scale{},
		discoveryGroup.WithKind("EndpointSlice"):           discoveryv1.EndpointSlice{},
		discoveryGroup.WithKind("EndpointSliceList"):       discoveryv1.EndpointSliceList{},
	}
}
