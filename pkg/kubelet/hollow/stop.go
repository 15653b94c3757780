package hollow

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
)

var _ cri.Stopper = (*Runtime)(nil)

// StoppedUntil implements cri.Stopper.
func (r *Runtime) StoppedUntil(node *corev1.Node) time.Time {
	until, err := time.Parse(time.RFC3339, node.Annotations[Prefix+"stop-kubelet"])
	if err != nil {
		return time.Time{}
	}
	return until
}
