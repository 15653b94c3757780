package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
)

// nodeFacts is the part of a node that placement depends on. A heartbeat does not change it.
type nodeFacts struct {
	unschedulable bool
	notReady      bool
	labels        labels.Set
	taints        []corev1.Taint // those that keep pods away
	capacity      amounts        // unlimited where the node reports nothing
	extras        extras
	maxPods       int64
}

const unlimited = -1

func factsOf(node *corev1.Node) nodeFacts {
	facts := nodeFacts{unschedulable: node.Spec.Unschedulable, labels: node.Labels,
		capacity: amounts{unlimited, unlimited}, maxPods: unlimited}
	isReady := false
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			isReady = condition.Status == corev1.ConditionTrue
			facts.notReady = !isReady
		}
	}
	for _, taint := range node.Spec.Taints {
		if isStale(taint, node, isReady) {
			continue
		}
		if taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute {
			facts.taints = append(facts.taints, taint)
		}
	}
	if cpu, reported := reportedBy(node, corev1.ResourceCPU); reported {
		facts.capacity.cpu = milli(&cpu, maxCapacity)
	}
	if memory, reported := reportedBy(node, corev1.ResourceMemory); reported {
		facts.capacity.memory = units(&memory, maxCapacity)
	}
	facts.extras = extrasIn(node.Status.Allocatable)
	if node.Status.Allocatable == nil {
		facts.extras = extrasIn(node.Status.Capacity)
	}
	if pods, reported := reportedBy(node, corev1.ResourcePods); reported {
		facts.maxPods = units(&pods, maxCapacity)
	}
	return facts
}

// isStale reports whether a taint only says what the node said before. A node controller will remove it, if one runs.
func isStale(taint corev1.Taint, node *corev1.Node, isReady bool) bool {
	if taint.Effect != corev1.TaintEffectNoSchedule {
		return false
	}
	switch taint.Key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable:
		return isReady
	case corev1.TaintNodeUnschedulable:
		return !node.Spec.Unschedulable
	}
	return false
}

// reportedBy returns how much of a resource a node reports for pods.
func reportedBy(node *corev1.Node, name corev1.ResourceName) (quantity resource.Quantity, reported bool) {
	if quantity, reported = node.Status.Allocatable[name]; !reported {
		quantity, reported = node.Status.Capacity[name]
	}
	return quantity, reported
}

// nodeInfo is a node with the sums of its pods.
type nodeInfo struct {
	name  string
	known bool // there is such a node; else only pods that are bound to it
	nodeFacts

	requested amounts // by its pods
	usual     amounts // the same, as it counts in scores
	taken     extras  // by its pods
	pods      int64
	held      int           // pods, with those that ended: they only keep their host ports
	ports     map[int32]int // how many pods have a host port
}

// count adds a pod to the sums, or with the sign -1 removes it.
func (n *nodeInfo) count(p *podState, sign int) {
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
	for name, amount := range p.extras {
		n.taken[name] += times * amount
	}
	n.requested, n.usual = n.requested.plus(p.requests.times(times)), n.usual.plus(usualOf(p.requests).times(times))
}
