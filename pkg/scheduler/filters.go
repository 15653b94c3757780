package scheduler

import corev1 "k8s.io/api/core/v1"

// filter returns why a node is not one for a pod, nothing if it may be.
type filter func(pod *wanted, node *nodeInfo) []string

// filters are asked in this order, which is today's, and all have to say nothing.
var filters = []filter{unschedulable, notReady, taints, selectors, hostPorts, resources}

func reason(says bool, text string) []string {
	if says {
		return []string{text}
	}
	return nil
}

// cordon is the taint of a cordoned node, which it need not have: to tolerate it is enough.
var cordon = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

func unschedulable(pod *wanted, node *nodeInfo) []string {
	return reason(node.unschedulable && !tolerated(cordon, pod.tolerations), "node(s) were unschedulable")
}

func notReady(_ *wanted, node *nodeInfo) []string {
	return reason(node.notReady, "node(s) were not ready")
}

func taints(pod *wanted, node *nodeInfo) []string {
	for _, taint := range node.taints {
		if !tolerated(taint, pod.tolerations) {
			return reason(true, "node(s) had untolerated taint(s)")
		}
	}
	return nil
}

func selectors(pod *wanted, node *nodeInfo) []string {
	return reason(!pod.selects(node.name, node.labels), "node(s) didn't match Pod's node affinity/selector")
}

func hostPorts(pod *wanted, node *nodeInfo) []string {
	for _, port := range pod.ports {
		if node.ports[port] > 0 {
			return reason(true, "node(s) didn't have free ports for the requested pod ports")
		}
	}
	return nil
}

// resources names all resources that are missing. Who requests nothing of one misses nothing.
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
	return missing
}

func lacks(request, requested, capacity int64) bool {
	return capacity != unlimited && request > 0 && requested+request > capacity
}
