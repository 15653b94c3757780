package scheduler

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
