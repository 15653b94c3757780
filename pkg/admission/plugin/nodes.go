package plugin

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/admission"
)

type taintNodes struct{ scope }

// NewTaintNodesByCondition creates a plugin that taints new nodes as not ready, so that no pod goes there before the
// kubelet is. A node controller removes the taint then.
var NewTaintNodesByCondition = WithoutConfiguration(func() admission.Interface { return taintNodes{on(onCreate, corev1.Resource("nodes"))} })

// Admit implements admission.MutationInterface.
func (taintNodes) Admit(_ context.Context, a *admission.Attributes) error {
	node := a.Object.(*corev1.Node)
	taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(own corev1.Taint) bool { return own.MatchTaint(&taint) }) {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	return nil
}
