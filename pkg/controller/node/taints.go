package node

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

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
