package scheduler

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// nodeFacts are what of a node counts for where pods go. A heartbeat changes none of them.
type nodeFacts struct {
	unschedulable bool
	notReady      bool
	labels        labels.Set
	taints        []corev1.Taint // those that keep pods away
	capacity      amounts        // unlimited where the node tells nothing
	maxPods       int64
}

const unlimited = -1

func factsOf(node *corev1.Node) nodeFacts {
	facts := nodeFacts{unschedulable: node.Spec.Unschedulable, labels: node.Labels,
		capacity: amounts{unlimited, unlimited}, maxPods: unlimited}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			facts.notReady = condition.Status != corev1.ConditionTrue
		}
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute {
			facts.taints = append(facts.taints, taint)
		}
	}
	if list := told(node, corev1.ResourceCPU); list != nil {
		facts.capacity.cpu = milli(list.Cpu(), maxCapacity)
	}
	if list := told(node, corev1.ResourceMemory); list != nil {
		facts.capacity.memory = units(list.Memory(), maxCapacity)
	}
	if list := told(node, corev1.ResourcePods); list != nil {
		facts.maxPods = units(list.Pods(), maxCapacity)
	}
	return facts
}

// told returns the list in which a node tells how much of a resource it has for pods, nil if it
// does not tell.
func told(node *corev1.Node, name corev1.ResourceName) corev1.ResourceList {
	for _, list := range []corev1.ResourceList{node.Status.Allocatable, node.Status.Capacity} {
		if _, there := list[name]; there {
			return list
		}
	}
	return nil
}

func (f nodeFacts) equal(g nodeFacts) bool { return reflect.DeepEqual(f, g) }

// nodeInfo is a node with the sums of its pods.
type nodeInfo struct {
	name  string
	known bool // there is such a node; else only pods that are bound to it
	nodeFacts

	requested amounts // by its pods
	usual     amounts // the same, as it counts in scores
	pods      int64
	held      int           // pods, with those that ended: they only keep their host ports
	ports     map[int32]int // how many pods have a host port
}

func newNodeInfo(name string) *nodeInfo { return &nodeInfo{name: name, ports: map[int32]int{}} }

// count adds a pod to the sums, or with the sign -1 removes it.
func (n *nodeInfo) count(p *counted, sign int) {
	n.held += sign
	for _, port := range p.ports {
		if n.ports[port] += sign; n.ports[port] == 0 {
			delete(n.ports, port)
		}
	}
	if p.ended {
		return
	}
	times := int64(sign)
	n.pods += times
	n.requested, n.usual = n.requested.plus(p.requests.times(times)), n.usual.plus(usualOf(p.requests).times(times))
}
