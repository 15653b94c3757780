package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// wanted is what a pod wants of a node.
type wanted struct {
	requests    amounts
	extras      extras
	ports       []int32
	selects     nodeSelector
	tolerations []corev1.Toleration
	// alike has for each node the number of pods of the same services, replication
	// controllers and replica sets. These pods are spread.
	alike map[*nodeInfo]int
}

func wantedBy(spec *corev1.PodSpec) *wanted {
	return &wanted{requests: requestsOf(spec), extras: extrasOf(spec), ports: hostPortsOf(spec), selects: selectorOf(spec), tolerations: spec.Tolerations}
}

// errNoNodes has today's text.
var errNoNodes = errors.New("no nodes available to schedule pods")

// fitError reports why a pod fits on none of the nodes.
type fitError struct {
	nodes   int
	reasons map[string]int // for how many nodes
}

// Error returns today's message, such as "0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu."
func (e *fitError) Error() string {
	var reasons []string
	for reason, count := range e.reasons {
		reasons = append(reasons, fmt.Sprintf("%d %s", count, reason))
	}
	slices.Sort(reasons)
	return fmt.Sprintf("0/%d nodes are available: %s.", e.nodes, strings.Join(reasons, ", "))
}

// schedule returns the best node for a pod. The turn, which grows by one with each pod, chooses
// among equals. The error is errNoNodes or a *fitError.
func schedule(pod *wanted, nodes []*nodeInfo, turn int) (*nodeInfo, error) {
	if len(nodes) == 0 {
		return nil, errNoNodes
	}
	failed := &fitError{len(nodes), map[string]int{}}
	var fitting []*nodeInfo
	for _, node := range nodes {
		reasons := misfits(pod, node)
		for _, reason := range reasons {
			failed.reasons[reason]++
		}
		if len(reasons) == 0 {
			fitting = append(fitting, node)
		}
	}
	if len(fitting) == 0 {
		return nil, failed
	}
	best := bestOf(pod, fitting)
	return best[turn%len(best)], nil
}

// misfits returns why a pod cannot go to a node: the reasons of the first filter that has any.
func misfits(pod *wanted, node *nodeInfo) []string {
	for _, filter := range filters {
		if reasons := filter(pod, node); len(reasons) > 0 {
			return reasons
		}
	}
	return nil
}

// bestOf returns the nodes with the highest score.
func bestOf(pod *wanted, nodes []*nodeInfo) []*nodeInfo {
	most := 0 // pods alike on one node
	for _, node := range nodes {
		most = max(most, pod.alike[node])
	}
	var best []*nodeInfo
	highest := int64(-1)
	for _, node := range nodes {
		score := leastRequested(pod, node) + spread(pod.alike[node], most)
		if score > highest {
			highest, best = score, best[:0]
		}
		if score == highest {
			best = append(best, node)
		}
	}
	return best
}

const maxScore = 100

// leastRequested is higher if more of a node is free with the pod. It is the mean over the resources
// that the node reports.
func leastRequested(pod *wanted, node *nodeInfo) int64 {
	used := node.usual.plus(usualOf(pod.requests))
	sum, resources := int64(0), int64(0)
	for _, one := range [...]struct{ used, capacity int64 }{{used.cpu, node.capacity.cpu}, {used.memory, node.capacity.memory}} {
		if one.capacity == unlimited {
			continue
		}
		resources++
		if one.used < one.capacity {
			sum += (one.capacity - one.used) * maxScore / one.capacity
		}
	}
	if resources == 0 {
		return 0
	}
	return sum / resources
}

// spread is higher if a node has fewer pods alike, compared with the node that has most.
func spread(count, most int) int64 {
	if most == 0 {
		return maxScore
	}
	return int64((most - count) * maxScore / most)
}
