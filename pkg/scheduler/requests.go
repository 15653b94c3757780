package scheduler

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kube2014/pkg/util/pods"
)

// amounts are amounts of the two resources that can be divided: thousandths of CPUs, and bytes.
type amounts struct{ cpu, memory int64 }

func (a amounts) plus(b amounts) amounts { return amounts{a.cpu + b.cpu, a.memory + b.memory} }
func (a amounts) times(n int64) amounts  { return amounts{n * a.cpu, n * a.memory} }
func (a amounts) max(b amounts) amounts  { return amounts{max(a.cpu, b.cpu), max(a.memory, b.memory)} }

// with returns the sum of two requests, at most tooMuch: many large ones do not overflow.
func (a amounts) with(b amounts) amounts {
	sum := a.plus(b)
	return amounts{min(sum.cpu, tooMuch), min(sum.memory, tooMuch)}
}

const (
	// maxCapacity is the most that a node is taken to have of a resource. Sums of what many pods
	// request stay far below the largest int64.
	maxCapacity = 1 << 50
	// tooMuch is what a request of more than maxCapacity counts as: no node has it.
	tooMuch = 2 * maxCapacity
)

// A pod that requests nothing still uses something. In scores, and only there, it counts with this.
const (
	usualCPU    = 100
	usualMemory = 200 << 20
)

// milli returns a quantity in thousandths, and at most a limit. Quantity.MilliValue alone overflows.
func milli(q *resource.Quantity, limit int64) int64 {
	if q.CmpInt64(maxCapacity/1000) > 0 {
		return limit
	}
	return q.MilliValue()
}

// units returns a quantity in whole units, and at most a limit.
func units(q *resource.Quantity, limit int64) int64 {
	if q.CmpInt64(maxCapacity) > 0 {
		return limit
	}
	return q.Value()
}

func amountsOf(list corev1.ResourceList, limit int64) amounts {
	return amounts{milli(list.Cpu(), limit), units(list.Memory(), limit)}
}

// extras are amounts of other resources, such as devices.
type extras map[corev1.ResourceName]int64

func isExtra(name corev1.ResourceName) bool {
	return name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourcePods
}

// extrasIn returns the other resources of a node.
func extrasIn(list corev1.ResourceList) extras {
	found := extras{}
	for name, quantity := range list {
		if isExtra(name) {
			found[name] = units(&quantity, maxCapacity)
		}
	}
	return found
}

// extrasOf returns what a pod requests of other resources, nil for nothing.
func extrasOf(spec *corev1.PodSpec) (requested extras) {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if !isExtra(name) {
					continue
				}
				if requested == nil {
					requested = extras{}
				}
				requested[name] = mostOf(spec, func(list corev1.ResourceList) amounts {
					quantity := list[name]
					return amounts{cpu: units(&quantity, tooMuch)}
				}).cpu
			}
		}
	}
	return requested
}

// requestsOf returns what a pod requests. Requests of the pod as a whole replace those of its containers.
func requestsOf(spec *corev1.PodSpec) amounts {
	total := mostOf(spec, func(list corev1.ResourceList) amounts { return amountsOf(list, tooMuch) })
	if spec.Resources != nil {
		if _, said := spec.Resources.Requests[corev1.ResourceCPU]; said {
			total.cpu = milli(spec.Resources.Requests.Cpu(), tooMuch)
		}
		if _, said := spec.Resources.Requests[corev1.ResourceMemory]; said {
			total.memory = units(spec.Resources.Requests.Memory(), tooMuch)
		}
	}
	return total.with(amountsOf(spec.Overhead, tooMuch))
}

// mostOf returns the most that a pod requests at one time: all containers and sidecars, or an
// init container with the sidecars that were started before it.
func mostOf(spec *corev1.PodSpec, of func(corev1.ResourceList) amounts) amounts {
	var together, sidecars, starting amounts
	for i := range spec.Containers {
		together = together.with(of(spec.Containers[i].Resources.Requests))
	}
	for i := range spec.InitContainers {
		container := &spec.InitContainers[i]
		needs := of(container.Resources.Requests)
		if pods.IsSidecar(container) {
			sidecars = sidecars.with(needs)
			starting = starting.max(sidecars)
		} else {
			starting = starting.max(sidecars.with(needs))
		}
	}
	return together.with(sidecars).max(starting)
}

// usualOf returns requests as they count in scores.
func usualOf(requests amounts) amounts {
	return amounts{cmp.Or(requests.cpu, usualCPU), cmp.Or(requests.memory, usualMemory)}
}

// hostPortsOf returns the host ports of a pod. The server gives a port once per node, whatever its
// protocol and address.
func hostPortsOf(spec *corev1.PodSpec) []int32 {
	var ports []int32
	add := func(container *corev1.Container) {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				ports = append(ports, port.HostPort)
			}
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	for i := range spec.InitContainers {
		if pods.IsSidecar(&spec.InitContainers[i]) {
			add(&spec.InitContainers[i])
		}
	}
	return ports
}
