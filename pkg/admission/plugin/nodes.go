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
var NewTaintNodesByCondition = WithoutConfiguration(func() admission.Interface {
	return taintNodes{on(onCreate, corev1.Resource("nodes"))}
})

// Admit implements admission.MutationInterface.
func (taintNodes) Admit(_ context.Context, a *admission.Attributes) error {
	node := a.Object.(*corev1.Node)
	taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(own corev1.Taint) bool { return own.MatchTaint(&taint) }) {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	return nil
}

// tolerationSeconds is how long a pod stays on a node that is not ready, or not reachable, if it does not say it.
const tolerationSeconds = 300

type defaultTolerations struct{ scope }

// NewDefaultTolerationSeconds creates a plugin that lets pods stay for a while on nodes that do not answer.
var NewDefaultTolerationSeconds = WithoutConfiguration(func() admission.Interface {
	return defaultTolerations{on(admission.Writes, corev1.Resource("pods"))}
})

// Admit implements admission.MutationInterface. An update may leave out what a new pod got, but a pod that has nothing
// gets nothing: it is a task.
func (defaultTolerations) Admit(_ context.Context, a *admission.Attributes) error {
	pod := a.Object.(*corev1.Pod)
	old, isUpdate := a.OldObject.(*corev1.Pod)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if tolerates(pod, key) || isUpdate && !tolerates(old, key) {
			continue
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(tolerationSeconds))})
	}
	return nil
}

// tolerates reports whether a pod says how long it stays on a node with a taint.
func tolerates(pod *corev1.Pod, key string) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
	})
}
