// Package nodegraph lets the Node authorizer follow what gives nodes access to other objects. Today's server calls this
// the graph populator.
package nodegraph

import (
	"context"
	"log"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/auth/authorizer/node"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Populator keeps the relations of stored objects in a graph.
type Populator struct {
	Graph   *node.Graph
	Objects storage.Interface
	Row     func(version schema.GroupVersion, resource string) *rest.Resource // of a resource
}

// Loops returns functions that follow the objects of a resource each, until the context ends.
func (p Populator) Loops() []func(ctx context.Context) {
	return []func(ctx context.Context){
		loop(p, node.Pod, corev1.SchemeGroupVersion, "pods", node.OfPod),
		loop(p, node.Volume, corev1.SchemeGroupVersion, "persistentvolumes", node.OfVolume),
		loop(p, node.Attachment, storagev1.SchemeGroupVersion, "volumeattachments", node.OfAttachment),
		loop(p, node.Slice, resourcev1.SchemeGroupVersion, "resourceslices", node.OfSlice),
	}
}

func loop[T rest.Object](p Populator, kind node.Kind, version schema.GroupVersion, resource string, of func(T) []node.Relation) func(ctx context.Context) {
	row := p.Row(version, resource)
	follow := apply(p.Graph, kind, v1.NewConverter(row.Kind, row.StoredKind, row.Types()), of)
	return func(ctx context.Context) { storage.Follow(ctx, p.Objects, row.StoredKind, follow) }
}

// apply returns a function for storage.Follow, which applies changes to the graph. Unreadable objects have no relations.
func apply[T rest.Object](graph *node.Graph, kind node.Kind, converter v1.Converter, of func(T) []node.Relation) func([]storage.Event, uint64, bool) {
	relations := func(stored *storage.Object) []node.Relation {
		if stored == nil {
			return nil
		}
		if pod, isPlaced := stored.Object.(api.Placed); isPlaced && pod.Machine() == "" {
			return nil
		}
		object, err := converter.ToVersioned(stored.Object)
		if err != nil {
			log.Printf("%s %s gives no node access: %s", stored.Key().Kind, api.Quote(stored.Key().ID), api.Line(err.Error()))
			return nil
		}
		return of(object.(T))
	}
	return func(changed []storage.Event, _ uint64, isAll bool) {
		if !isAll {
			for _, event := range changed {
				graph.Change(kind, relations(event.Before), relations(event.After))
			}
			return
		}
		var all [][]node.Relation
		for _, event := range changed {
			all = append(all, relations(event.After))
		}
		graph.Replace(kind, all)
	}
}
