package scheduler

import (
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/util/pods"
)

// labelSet is what the pods of a namespace with the same labels have in common. Pods of one
// service have few of them, and none has to be looked at again when the selector changes.
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

// remove stops counting it.
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

// count returns how many pods of a namespace each node has that one of the selectors selects.
func (l labelSets) count(namespace string, selectors []map[string]string) map[*nodeInfo]int {
	if len(selectors) == 0 {
		return nil
	}
	counts := map[*nodeInfo]int{}
	for _, set := range l[namespace] {
		if selectedByAny(selectors, set.labels) {
			for node, count := range set.nodes {
				counts[node] += count
			}
		}
	}
	return counts
}

func selectedByAny(selectors []map[string]string, of map[string]string) bool {
	for _, selector := range selectors {
		if pods.Selects(selector, of) {
			return true
		}
	}
	return false
}
