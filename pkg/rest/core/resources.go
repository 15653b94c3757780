// Package core is the table of the second door's resources: for each kind its strategy,
// and what its storage does besides.
package core

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/api"
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

// Config is what the resources need.
type Config struct {
	Objects  storage.Interface
	Placer   Placer
	Now      func() time.Time
	EventTTL time.Duration // how long an event stays after its last change; 0 is for ever
	Kubelets Kubelets      // nil for none
}

// Resources returns the table: each kind, with its subresources, is made beside its strategy.
func Resources(c Config) []rest.Resource {
	b := generic.Base{Objects: c.Objects, Turns: &generic.Turns{}, Now: c.Now}
	nodeRows, nodes := nodeRows(b)
	return slices.Concat(endpointsRows(b), eventRows(b, c.EventTTL), namespaceRows(), nodeRows, podRows(b, nodes, c.Placer, c.Kubelets),
		controllerRows(b), serviceRows(b), endpointSliceRows(b))
}

// coreRow returns the row of a kind of the group without a name.
func coreRow(kind, name, singular string, stored api.Kind, printer printers.Printer, shortNames ...string) rest.Resource {
	return rest.Resource{GroupVersion: coreGroup, Kind: coreGroup.WithKind(kind), Name: name, Singular: singular, Stored: stored, Printer: printer,
		ShortNames: shortNames, Namespaced: true}
}

// countGeneration counts a change of what an object should be.
func countGeneration(object rest.Object, spec, old interface{}) {
	if !equality.Semantic.DeepEqual(spec, old) {
		object.SetGeneration(object.GetGeneration() + 1)
	}
}

// part is the storage of a part of the objects of a store: they are read and updated there, by a strategy
// of its own.
type part struct {
	rest.Getter
	rest.Updater
}

func partOf[T rest.Object](store *generic.Store[T], strategy generic.Strategy[T]) part {
	own := store.With(strategy)
	return part{own, own}
}
