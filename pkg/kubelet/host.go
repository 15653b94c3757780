package kubelet

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/lifecycle"
	"kube2014/pkg/kubelet/server"
)

// host is a kubelet as its HTTP server knows it.
type host struct{ *Kubelet }

// Pods implements server.Host.
func (h host) Pods() []server.Pod {
	var pods []server.Pod
	for _, w := range h.all() {
		pods = append(pods, w)
	}
	slices.SortFunc(pods, func(a, b server.Pod) int { return strings.Compare(a.Key(), b.Key()) })
	return pods
}

// Pod implements server.Host.
func (h host) Pod(key string) server.Pod {
	if w := h.worker(key); w != nil {
		return w
	}
	return nil
}

// Key implements server.Pod.
func (w *podWorker) Key() string { return w.key }

// Object implements server.Pod.
func (w *podWorker) Object() corev1.Pod {
	pod, status, _ := w.toReport()
	shown := *pod
	shown.Status = lifecycle.MergeStatus(pod.Status, status, metav1.Now())
	return shown
}

// Infos implements server.Pod.
func (w *podWorker) Infos() map[string]server.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]server.Info{}
	for _, c := range w.containers {
		if c.Kind == lifecycle.MainContainer {
			all[c.name] = w.describe(c)
		}
	}
	return all
}

// Info implements server.Pod.
func (w *podWorker) Info(name string) (server.Info, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.find(name)
	if c == nil {
		return server.Info{}, false
	}
	return w.describe(c), true
}

func (w *podWorker) describe(c *container) server.Info {
	var state cri.State
	if c.Run != nil {
		state = c.Run.State()
	} else if c.Ended != nil {
		state = cri.State{ID: c.Ended.ContainerID, StartedAt: c.Ended.StartedAt.Time, FinishedAt: c.Ended.FinishedAt.Time, ExitCode: c.Ended.ExitCode}
	}
	return server.Describe(server.Described{Pod: w.pod.Name, Name: c.name, Spec: c.Spec, State: state, IP: w.podIP(), Restarts: c.Attempt})
}

// find returns the container of a name, the first one if that is empty.
func (w *podWorker) find(name string) *container {
	for _, c := range w.containers {
		if name == "" && c.Kind == lifecycle.MainContainer || name != "" && (c.Spec.Name == name || c.name == name) {
			return c
		}
	}
	return nil
}

// LogNames implements server.Pod.
func (w *podWorker) LogNames() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.containers {
		if c.Run != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// Log implements server.Pod.
func (w *podWorker) Log(name string, previous bool) (cri.Container, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.find(name)
	if c == nil {
		return nil, server.ErrNotFound
	}
	run := c.Run
	waits := run == nil || run.State().Phase == cri.Created
	switch {
	case previous && c.before == nil:
		return nil, fmt.Errorf("previous terminated container %q in pod %q not found", c.name, w.pod.Name)
	case previous, waits && c.before != nil:
		return c.before, nil
	case run == nil && c.Ended != nil:
		return nil, fmt.Errorf("container %q in pod %q is terminated, and its log is gone", c.name, w.pod.Name)
	case waits:
		reason := w.waits()
		if c.problem != nil && c.problem.reason != "" {
			reason = c.problem.reason
		}
		return nil, fmt.Errorf("container %q in pod %q is waiting to start: %s", c.name, w.pod.Name, reason)
	}
	return run, nil
}

// Running implements server.Pod.
func (w *podWorker) Running(name string) cri.Container {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.find(name); c != nil && c.Run != nil && c.Run.State().Phase == cri.Running {
		return c.Run
	}
	return nil
}

// Address implements server.Pod. A pod without an address of its own is reached at the ports of its machine that it
// has.
func (w *podWorker) Address(port uint16) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return net.JoinHostPort(w.podIP(), strconv.Itoa(int(w.openPort(int32(port)))))
}

// openPort returns the port at the pod's address that leads to one of a container.
func (w *podWorker) openPort(port int32) int32 {
	for _, c := range w.containers {
		for _, open := range c.Spec.Ports {
			if !w.ip.IsValid() && open.ContainerPort == port && open.HostPort > 0 {
				return open.HostPort
			}
		}
	}
	return port
}

// waits returns the reason why containers wait that have not begun to run.
func (w *podWorker) waits() string {
	if len(w.pod.Spec.InitContainers) > 0 {
		return podInitializing
	}
	return containerCreating
}

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
		if c.Run == nil {
			continue
		}
		used := c.Run.Usage(at)
		u.Usage = sum(u.Usage, used)
		if used.Memory > 0 {
			u.Containers = append(u.Containers, server.ContainerUsage{Name: c.name, StartedAt: c.Run.State().StartedAt, Usage: used})
		}
	}
	return u
}

// leave adds the CPU time of a container whose run is given up. It has exited.
func (w *podWorker) leave(c *container) {
	if c.Run != nil {
		w.used += c.Run.Usage(time.Now()).CPU
	}
}
