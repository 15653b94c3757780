package scheduler

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/util/pods"
)

// labelSet counts the pods of a namespace with the same labels. There are few sets, and pods need
// not be counted again when a selector changes.
type labelSet struct {
	namespace, key string
	labels         labels.Set
	nodes          map[*nodeInfo]int // how many of the pods a node has
}

// labelSets are the sets by their namespaces and keys.
type labelSets map[string]map[string]*labelSet

// add counts a pod with labels on a node.
func (l labelSets) add(namespace string, of labels.Set, node *nodeInfo) *labelSet {
	if l[namespace] == nil {
		l[namespace] = map[string]*labelSet{}
	}
	key := of.String()
	set := l[namespace][key]
	if set == nil {
		set = &labelSet{namespace, key, of, map[*nodeInfo]int{}}
		l[namespace][key] = set
	}
	set.nodes[node]++
	return set
}

// remove stops counting a pod.
func (l labelSets) remove(set *labelSet, node *nodeInfo) {
	if set.nodes[node]--; set.nodes[node] == 0 {
		delete(set.nodes, node)
	}
	if len(set.nodes) == 0 {
		delete(l[set.namespace], set.key)
	}
	if len(l[set.namespace]) == 0 {
		delete(l, set.namespace)
	}
}

// count returns for each node how many pods of a namespace the selectors select.
func (l labelSets) count(namespace string, selectors []map[string]string) map[*nodeInfo]int {
	if len(selectors) == 0 {
		return nil
	}
	counts := map[*nodeInfo]int{}
	for _, set := range l[namespace] {
		if slices.ContainsFunc(selectors, func(selector map[string]string) bool { return pods.Selects(selector, set.labels) }) {
			for node, count := range set.nodes {
				counts[node] += count
			}
		}
	}
	return counts
}
