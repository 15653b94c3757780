package core

import (
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core/connect"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

func nodeRows(b rest.Base, c Config) ([]rest.Resource, connect.Network) {
	row := coreRow("Node", "nodes", api.NodeKind, printers.Nodes, "no")
	row.Namespaced = false
	store := genericregistry.NewStore(b, row, genericregistry.Strategy[*corev1.Node]{
		Default:          defaults.Node,
		Validate:         validation.ValidateNode,
		PrepareForUpdate: func(node, old *corev1.Node) { node.Status = old.Status },
		ValidateUpdate:   validation.ValidateNodeUpdate,
		Resets:           fieldmanager.Fields{"status"},
		Fields:           nodeFields,
	})
	network := connect.Network{Nodes: store, Kubelets: c.Kubelets, Proxied: c.Proxied}
	status := row.Subresource("status", generic.SubresourceOf(store, "status", genericregistry.Strategy[*corev1.Node]{
		Default:          defaults.Node,
		PrepareForUpdate: func(node, old *corev1.Node) { node.Spec = old.Spec },
		ValidateUpdate:   validation.ValidateNodeUpdate,
		Resets:           fieldmanager.Fields{"spec"},
	}))
	return []rest.Resource{row.With(store), network.NodeRow(row), status}, network
}

func nodeFields(node *corev1.Node) fields.Set {
	return fields.Set{"spec.unschedulable": strconv.FormatBool(node.Spec.Unschedulable)}
}

// heartbeatTime is how long a kubelet counts as alive without a heartbeat, as for today's node
// controller.
const heartbeatTime = 40 * time.Second

// nodes is the storage of nodes.
type nodes struct {
	*genericregistry.Store[*corev1.Node]
}

// isAlive reports whether the kubelet of a node has reported that it is ready, and has done so or has renewed its lease recently.
// Today's kubelets repeat a report only every five minutes.
func (n nodes) isAlive(name string) bool {
	if name == "" {
		return false
	}
	stored, err := n.Objects.Get(api.DefaultKey(api.NodeKind, name))
	if err != nil {
		return false
	}
	node, err := n.Decoded(stored)
	if err != nil {
		return false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue && (n.isRecent(condition.LastHeartbeatTime.Time) || n.isRecent(n.renewed(name)))
		}
	}
	return false
}

func (n nodes) isRecent(at time.Time) bool { return n.Now().Sub(at) < heartbeatTime }

var leases = v1.NewConverter(coordinationv1.SchemeGroupVersion.WithKind("Lease"), "leases", v1.Scheme)

// renewed returns when a kubelet has renewed the lease of its node, zero if there is none.
func (n nodes) renewed(name string) (at time.Time) {
	stored, err := n.Objects.Get(api.Key{Kind: "leases", Namespace: corev1.NamespaceNodeLease, ID: name})
	if err != nil {
		return at
	}
	lease, err := leases.ToVersioned(stored.Object)
	if err == nil && lease.(*coordinationv1.Lease).Spec.RenewTime != nil {
		at = lease.(*coordinationv1.Lease).Spec.RenewTime.Time
	}
	return at
}
