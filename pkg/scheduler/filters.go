package scheduler

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// filter returns why a pod cannot go to a node, nothing if it can.
type filter func(pod *wanted, node *nodeInfo) []string

// filters are called in this order, which is today's. The first one with a reason decides.
var filters = []filter{unschedulable, notReady, taints, selectors, hostPorts, resources}

func reason(applies bool, text string) []string {
	if applies {
		return []string{text}
	}
	return nil
}

// cordon is the taint of a cordoned node. A pod that tolerates it may go there, even if the node
// does not have it.
var cordon = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

func unschedulable(pod *wanted, node *nodeInfo) []string {
	return reason(node.unschedulable && !tolerated(cordon, pod.tolerations), "node(s) were unschedulable")
}

func notReady(_ *wanted, node *nodeInfo) []string {
	return reason(node.notReady, "node(s) were not ready")
}

func taints(pod *wanted, node *nodeInfo) []string {
	repelled := slices.ContainsFunc(node.taints, func(taint corev1.Taint) bool { return !tolerated(taint, pod.tolerations) })
	return reason(repelled, "node(s) had untolerated taint(s)")
}

func selectors(pod *wanted, node *nodeInfo) []string {
	return reason(!pod.selects(node.name, node.labels), "node(s) didn't match Pod's node affinity/selector")
}

func hostPorts(pod *wanted, node *nodeInfo) []string {
	taken := slices.ContainsFunc(pod.ports, func(port int32) bool { return node.ports[port] > 0 })
	return reason(taken, "node(s) didn't have free ports for the requested pod ports")
}

// resources returns all resources that are missing. One that is not requested is not missing. Nodes that do not report
// CPUs, memory and local storage have enough of them.
func resources(pod *wanted, node *nodeInfo) []string {
	var missing []string
	if node.maxPods != unlimited && node.pods >= node.maxPods {
		missing = append(missing, "Too many pods")
	}
	if lacks(pod.requests.cpu, node.requested.cpu, node.capacity.cpu) {
		missing = append(missing, "Insufficient cpu")
	}
	if lacks(pod.requests.memory, node.requested.memory, node.capacity.memory) {
		missing = append(missing, "Insufficient memory")
	}
	for _, name := range slices.Sorted(maps.Keys(pod.extras)) {
		capacity, reported := node.extras[name]
		if !reported && name == corev1.ResourceEphemeralStorage {
			capacity = unlimited
		}
		if lacks(pod.extras[name], node.taken[name], capacity) {
			missing = append(missing, fmt.Sprintf("Insufficient %s", name))
		}
	}
	return missing
}

func lacks(request, requested, capacity int64) bool {
	return capacity != unlimited && request > 0 && requested+request > capacity
}
