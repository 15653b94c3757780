package kubelet

import (
	"time"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/server"
)

// What a machine uses besides its containers. There is nothing to measure: several machines may share this process.
const (
	machineCPU    = .01
	machineMemory = 10 << 20
)

// Usage implements server.Host. While the lock is held, no worker is added or leaves: what a pod has used counts once.
func (h host) Usage(at time.Time) server.Usage {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := server.Usage{Node: cri.Usage{CPU: h.used + machineCPU*max(0, at.Sub(h.began).Seconds()), Memory: machineMemory}}
	for _, w := range h.workers {
		pod := w.usage(at)
		u.Node = sum(u.Node, pod.Usage)
		if len(pod.Containers) > 0 {
			u.Pods = append(u.Pods, pod)
		}
	}
	return u
}

func sum(a, b cri.Usage) cri.Usage { return cri.Usage{CPU: a.CPU + b.CPU, Memory: a.Memory + b.Memory} }

// usage returns what the pod uses. Its CPU time is that of all starts of its containers: it never decreases.
func (w *podWorker) usage(at time.Time) server.PodUsage {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := server.PodUsage{Namespace: w.pod.Namespace, Name: w.pod.Name, Usage: cri.Usage{CPU: w.used}}
	for _, c := range w.containers {
		if c.run == nil {
			continue
		}
		used := c.run.Usage(at)
		u.Usage = sum(u.Usage, used)
		if used.Memory > 0 {
			u.Containers = append(u.Containers, server.ContainerUsage{Name: c.name, StartedAt: c.run.State().StartedAt, Usage: used})
		}
	}
	return u
}

// leave adds the CPU time of a container whose run is given up. It has exited.
func (w *podWorker) leave(c *container) {
	if c.run != nil {
		w.used += c.run.Usage(time.Now()).CPU
	}
}
