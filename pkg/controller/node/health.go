package node

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/util"
)

// nodeHealth has the times when the heartbeats of kubelets changed, by our own clock. It also has
// nodes that are gone, but have pods.
type nodeHealth struct {
	grace      time.Duration
	nodes      map[string]*nodeSeen
	requested  time.Time // when the last list was requested
	aliveSince time.Time // from when on some kubelet was heard at each look; zero if none is
}

// nodeSeen is a node as it was last seen.
type nodeSeen struct {
	sign  heartbeat
	since time.Time // when the sign changed
}

// heartbeat is the sign of a kubelet, or of a node that is gone. All that counts is whether it
// changes: the time in it is by the kubelet's clock.
type heartbeat struct {
	gone bool
	at   time.Time
}

func newNodeHealth(grace time.Duration) *nodeHealth {
	return &nodeHealth{grace: grace, nodes: map[string]*nodeSeen{}}
}

// forget gives all nodes a new grace period.
func (h *nodeHealth) forget() {
	h.nodes, h.aliveSince = map[string]*nodeSeen{}, time.Time{}
}

// observe updates the health from a new list of nodes, with the times when it was requested and when
// it came. It skips nodes that never had a kubelet.
func (h *nodeHealth) observe(nodes []*corev1.Node, pods []*corev1.Pod, requested, came time.Time) {
	before, exists := h.nodes, make(map[string]bool, len(nodes))
	h.nodes, h.requested = map[string]*nodeSeen{}, requested
	for _, node := range nodes {
		exists[node.Name] = true
		if ready := nodeCondition(node, corev1.NodeReady); ready != nil {
			h.see(before[node.Name], node.Name, heartbeat{at: ready.LastHeartbeatTime.Time}, came)
		}
	}
	for _, pod := range pods {
		if name := pod.Spec.NodeName; name != "" && !exists[name] {
			h.see(before[name], name, heartbeat{gone: true}, came)
		}
	}
	switch {
	case !h.isAnyAlive():
		h.aliveSince = time.Time{}
	case h.aliveSince.IsZero():
		h.aliveSince = requested
	}
}

func (h *nodeHealth) see(before *nodeSeen, name string, sign heartbeat, now time.Time) {
	if before == nil || before.sign.gone != sign.gone || !before.sign.at.Equal(sign.at) {
		before = &nodeSeen{sign, now}
	}
	h.nodes[name] = before
}

// isAnyAlive reports whether some kubelet was heard within half the grace period. If all are cut off
// at once, it becomes false before the first of them counts as silent.
func (h *nodeHealth) isAnyAlive() bool {
	for _, seen := range h.nodes {
		if !seen.sign.gone && h.requested.Sub(seen.since) < h.grace/2 {
			return true
		}
	}
	return false
}

// isSilent reports whether the kubelet of a node was not heard, or the node gone, for the grace
// period.
func (h *nodeHealth) isSilent(name string) bool {
	seen := h.nodes[name]
	return seen != nil && h.requested.Sub(seen.since) >= h.grace
}

// isGone reports whether a node that has pods does not exist.
func (h *nodeHealth) isGone(name string) bool {
	seen := h.nodes[name]
	return seen != nil && seen.sign.gone
}

// mayDelete reports whether kubelets were heard for the whole grace period. After all were silent,
// each so has time to come back.
func (h *nodeHealth) mayDelete() bool {
	return !h.aliveSince.IsZero() && h.requested.Sub(h.aliveSince) >= h.grace
}

func nodeCondition(node *corev1.Node, conditionType corev1.NodeConditionType) *corev1.NodeCondition {
	return util.Find(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == conditionType })
}

// markConditions makes the conditions Unknown that a kubelet writes. It reports whether one was not.
func markConditions(conditions []corev1.NodeCondition, now metav1.Time) (changed bool) {
	for i := range conditions {
		condition := &conditions[i]
		switch condition.Type {
		case corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure:
			if condition.Status != corev1.ConditionUnknown {
				condition.Status, condition.LastTransitionTime, changed = corev1.ConditionUnknown, now, true
				condition.Reason, condition.Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
			}
		}
	}
	return changed
}

// conditionTaints has the taints that keep pods away while a condition has a status.
var conditionTaints = []struct {
	condition corev1.NodeConditionType
	status    corev1.ConditionStatus
	taint     string
}{
	{corev1.NodeReady, corev1.ConditionFalse, corev1.TaintNodeNotReady},
	{corev1.NodeReady, corev1.ConditionUnknown, corev1.TaintNodeUnreachable},
	{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.TaintNodeMemoryPressure},
	{corev1.NodeDiskPressure, corev1.ConditionTrue, corev1.TaintNodeDiskPressure},
	{corev1.NodePIDPressure, corev1.ConditionTrue, corev1.TaintNodePIDPressure},
	{corev1.NodeNetworkUnavailable, corev1.ConditionTrue, corev1.TaintNodeNetworkUnavailable},
}

// taintsOf returns the taints that a node should have: those of its conditions, and others that it has. A node that
// never had a kubelet keeps its own.
func taintsOf(node *corev1.Node) []corev1.Taint {
	if nodeCondition(node, corev1.NodeReady) == nil {
		return node.Spec.Taints
	}
	wanted := map[string]bool{corev1.TaintNodeUnschedulable: node.Spec.Unschedulable}
	for _, row := range conditionTaints {
		condition := nodeCondition(node, row.condition)
		wanted[row.taint] = condition != nil && condition.Status == row.status
	}
	has := map[string]bool{}
	taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(taint corev1.Taint) bool {
		isWanted, isOfCondition := wanted[taint.Key]
		if !isOfCondition || taint.Effect != corev1.TaintEffectNoSchedule {
			return false
		}
		has[taint.Key] = true
		return !isWanted
	})
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[key] && !has[key] {
			taints = append(taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	return taints
}
