package plugin

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/admission"
)

type taintNodes struct{ scope }

// NewTaintNodesByCondition creates a plugin that taints new nodes as not ready, so that no pod goes there before the
// kubelet is. A node controller removes the taint then. It is an admission.Factory.
func NewTaintNodesByCondition(configuration json.RawMessage) (admission.Interface, error) {
	return WithoutConfiguration(taintNodes{on(onCreate, corev1.Resource("nodes"))}, configuration)
}

// Admit implements admission.MutationInterface.
func (taintNodes) Admit(_ context.Context, a *admission.Attributes) error {
	node, isNode := a.Object.(*corev1.Node)
	if !isNode {
		return nil
	}
	taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(own corev1.Taint) bool { return own.MatchTaint(&taint) }) {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	return nil
}
