package hollow

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
)

// What a container uses that requests nothing. It is not 0: who reads metrics takes that for a container that is not measured yet.
const (
	defaultCPU    = .01
	defaultMemory = 10 << 20
)

// usesOf returns what a container uses in each second.
func usesOf(c *corev1.Container) cri.Usage {
	requests := c.Resources.Requests
	return cri.Usage{CPU: cmp.Or(requests.Cpu().AsApproximateFloat64(), defaultCPU), Memory: cmp.Or(requests.Memory().AsApproximateFloat64(), defaultMemory)}
}

// Usage implements cri.Container.
func (c *container) Usage(at time.Time) cri.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.state.Phase {
	case cri.Running:
		return cri.Usage{CPU: c.uses.CPU * max(0, at.Sub(c.state.StartedAt).Seconds()), Memory: c.uses.Memory}
	case cri.Exited:
		return cri.Usage{CPU: c.uses.CPU * c.state.FinishedAt.Sub(c.state.StartedAt).Seconds()}
	}
	return cri.Usage{}
}
