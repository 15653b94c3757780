package metrics

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// subject is what a kubelet measures: a container of a pod, or if it is empty the node.
type subject struct{ namespace, pod, container string }

// sample is what a kubelet tells of a subject. What it does not tell is 0.
type sample struct {
	at     time.Time // when the processor time was measured
	cpu    float64   // all processor time until then, in seconds
	memory float64   // the working set, in bytes
	start  float64   // of the container, in seconds since 1970
}

// answer is one answer of a kubelet. It is nil if there is none.
type answer map[subject]sample

// containers returns those of a pod, by name.
func (a answer) containers(namespace, pod string) (all []subject) {
	for of := range a {
		if of.namespace == namespace && of.pod == pod {
			all = append(all, of)
		}
	}
	slices.SortFunc(all, func(a, b subject) int { return cmp.Compare(a.container, b.container) })
	return all
}

// measurement is two answers of a kubelet.
type measurement struct{ first, last answer }

// usage is what a subject has used in the window that ended at a time.
type usage struct {
	at        time.Time
	window    time.Duration
	resources corev1.ResourceList
}

// usage returns what a subject has used, and whether that is known: a container that began between the answers may have used more
// than its counter tells.
func (m measurement) usage(of subject) (usage, bool) {
	first, last := m.first[of], m.last[of]
	window := last.at.Sub(first.at)
	cores := (last.cpu - first.cpu) / window.Seconds()
	complete := first.cpu > 0 && first.memory > 0 && last.cpu > 0 && last.memory > 0 // as in metrics-server
	isNumber := cores >= 0 && cores < math.MaxInt64/1e9 && last.memory < math.MaxInt64
	if !complete || !isNumber || window <= 0 || last.start != first.start {
		return usage{}, false
	}
	cpu, memory := resource.NewScaledQuantity(int64(math.Round(cores*1e9)), resource.Nano), resource.NewQuantity(int64(last.memory), resource.BinarySI)
	return usage{last.at, window, corev1.ResourceList{corev1.ResourceCPU: *cpu, corev1.ResourceMemory: *memory}}, true
}
