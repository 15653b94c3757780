package master

import (
	"context"
	"log"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/auth/authorizer/node"
	"kube2014/pkg/options"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/rbac"
	"kube2014/pkg/server"
	"kube2014/pkg/storage"
)

// nodeRules returns the rules of the role system:node.
func nodeRules() []rbacv1.PolicyRule {
	for _, object := range rbac.Defaults() {
		if role, isRole := object.(*rbacv1.ClusterRole); isRole && role.Name == "system:node" {
			return role.Rules
		}
	}
	panic("master: there is no role system:node")
}

// machineOf returns the machine of a pod, "" for none.
func (m *Master) machineOf(namespace, name string) string {
	stored, err := m.Stores.Objects.Cached().Get(api.Key{Kind: api.TaskKind, Namespace: namespace, ID: name})
	if err != nil {
		return ""
	}
	return stored.Object.(api.Placed).Machine()
}

// addNodeGraph lets the Node authorizer, if it is on, follow what gives nodes access to other objects.
func (m *Master) addNodeGraph(link *server.Link) {
	if !m.o.Authorization.Has(options.Node) {
		return
	}
	followRelations(m, link, node.Pod, corev1.SchemeGroupVersion.WithResource("pods"), node.OfPod)
	followRelations(m, link, node.Volume, corev1.SchemeGroupVersion.WithResource("persistentvolumes"), node.OfVolume)
	followRelations(m, link, node.Attachment, storagev1.SchemeGroupVersion.WithResource("volumeattachments"), node.OfAttachment)
	followRelations(m, link, node.Slice, resourcev1.SchemeGroupVersion.WithResource("resourceslices"), node.OfSlice)
}

// followRelations keeps the relations of the objects of a resource in the graph.
func followRelations[T rest.Object](m *Master, link *server.Link, kind node.Kind, resource schema.GroupVersionResource, of func(T) []node.Relation) {
	row := m.row(resource.GroupVersion(), resource.Resource)
	apply := applyTo(m.nodes, kind, v1.NewConverter(row.Kind, row.StoredKind, row.Types()), of)
	link.AddLoop(func(ctx context.Context) { storage.Follow(ctx, m.Stores.Objects, row.StoredKind, apply) })
}

// applyTo returns a function for storage.Follow, which applies changes to the graph. Unreadable objects have no relations.
func applyTo[T rest.Object](graph *node.Graph, kind node.Kind, converter v1.Converter, of func(T) []node.Relation) func([]storage.Event, uint64, bool) {
	relations := func(stored *storage.Object) []node.Relation {
		if stored == nil {
			return nil
		}
		if pod, isPlaced := stored.Object.(api.Placed); isPlaced && pod.Machine() == "" {
			return nil
		}
		object, err := converter.Out(stored.Object)
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
