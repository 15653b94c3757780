package core

import (
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
)

func nodeRows(b generic.Base, c Config) ([]rest.Resource, nodes) {
	row := coreRow("Node", "nodes", api.NodeKind, printers.Nodes, "no")
	row.Namespaced = false
	store := generic.NewStore(b, row, generic.Strategy[*corev1.Node]{
		Default:          defaults.Node,
		Validate:         validation.ValidateNode,
		PrepareForUpdate: func(node, old *corev1.Node) { node.Status = old.Status },
		ValidateUpdate:   validation.ValidateNodeUpdate,
		Resets:           fieldmanager.Fields{"status"},
		Fields:           nodeFields,
	})
	nodes := nodes{store}
	return []rest.Resource{row.With(store), connecting(row, "proxy", "NodeProxyOptions", nodeProxy{nodes, c.Kubelets, c.Proxied}), row.Subresource("status", generic.SubresourceOf(store, "status", generic.Strategy[*corev1.Node]{
		Default:          defaults.Node,
		PrepareForUpdate: func(node, old *corev1.Node) { node.Spec = old.Spec },
		ValidateUpdate:   validation.ValidateNodeUpdate,
		Resets:           fieldmanager.Fields{"spec"},
	}))}, nodes
}

func nodeFields(node *corev1.Node) fields.Set {
	return fields.Set{"spec.unschedulable": strconv.FormatBool(node.Spec.Unschedulable)}
}

// heartbeatTime is how long a kubelet counts as alive without a heartbeat, as for today's node
// controller.
const heartbeatTime = 40 * time.Second

// nodes is the storage of nodes.
type nodes struct{ *generic.Store[*corev1.Node] }

func (n nodes) get(name string) (*corev1.Node, error) {
	stored, err := n.Objects.Get(api.DefaultKey(api.NodeKind, name))
	if err != nil {
		return nil, err
	}
	return n.Decoded(stored)
}

// kubelet returns the address of the kubelet of a node. The port is 0 if no kubelet has reported one. As in
// today's server, the error names the resource of the request.
func (n nodes) kubelet(name string, of schema.GroupResource) (host string, port uint, err error) {
	node, err := n.get(name)
	if err != nil {
		return "", 0, rest.StatusError(err, of, name)
	}
	host, port = KubeletOf(node)
	return host, port, nil
}

// KubeletOf returns the address of the kubelet of a node. The port is 0 if no kubelet has reported one.
func KubeletOf(node *corev1.Node) (host string, port uint) {
	port = uint(node.Status.DaemonEndpoints.KubeletEndpoint.Port)
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address, port
		}
	}
	return node.Name, port
}

// isAlive reports whether the kubelet of a node has reported that it is ready, and has done so or has renewed its lease recently.
// Today's kubelets repeat a report only every five minutes.
func (n nodes) isAlive(name string) bool {
	if name == "" {
		return false
	}
	node, err := n.get(name)
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
	lease, err := leases.Out(stored.Object)
	if err == nil && lease.(*coordinationv1.Lease).Spec.RenewTime != nil {
		at = lease.(*coordinationv1.Lease).Spec.RenewTime.Time
	}
	return at
}
