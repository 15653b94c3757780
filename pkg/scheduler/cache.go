package scheduler

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/util/pods"
)

// podState is a pod that counts on a node: the informer has shown it there, or it is assumed there.
type podState struct {
	uid      types.UID
	node     string
	requests amounts
	extras   extras
	ports    []int32
	ended    bool
	labels   *labelSet // nil if it has ended

	assumed *corev1.Pod // the pod, until it is seen on the node
	bound   bool        // the server has said that the assumed pod is bound
}

// schedulerCache has the sums of the pods of each node. To sum them up for each decision would be too slow
// with 5,000 pods. It is safe for concurrent use.
type schedulerCache struct {
	mu     sync.Mutex // guards what follows
	nodes  map[string]*nodeInfo
	known  []*nodeInfo // by their names
	pods   map[string]*podState
	labels labelSets
	turn   int
}

func newSchedulerCache() *schedulerCache {
	return &schedulerCache{nodes: map[string]*nodeInfo{}, pods: map[string]*podState{}, labels: labelSets{}}
}

// setNode adds or updates a node. It reports whether anything has changed that matters.
func (c *schedulerCache) setNode(node *corev1.Node) bool {
	facts := factsOf(node)
	c.mu.Lock()
	defer c.mu.Unlock()
	info := c.node(node.Name)
	if info.known && reflect.DeepEqual(info.nodeFacts, facts) {
		return false
	}
	if !info.known {
		info.known = true
		at, _ := c.find(node.Name)
		c.known = slices.Insert(c.known, at, info)
	}
	info.nodeFacts = facts
	return true
}

func (c *schedulerCache) removeNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, there := c.find(name); there {
		info := c.known[at]
		c.known = slices.Delete(c.known, at, at+1)
		info.known, info.nodeFacts = false, nodeFacts{}
		c.drop(info)
	}
}

func (c *schedulerCache) find(name string) (int, bool) {
	return slices.BinarySearchFunc(c.known, name, func(n *nodeInfo, name string) int { return strings.Compare(n.name, name) })
}

// node returns the node of a name, which need not be known.
func (c *schedulerCache) node(name string) *nodeInfo {
	if c.nodes[name] == nil {
		c.nodes[name] = &nodeInfo{name: name, ports: map[int32]int{}, taken: extras{}}
	}
	return c.nodes[name]
}

// drop deletes a node that is unknown and has no pods.
func (c *schedulerCache) drop(info *nodeInfo) {
	if !info.known && info.held == 0 {
		delete(c.nodes, info.name)
	}
}

// setPod adds or updates a pod that has a node. It reports whether that may have made room.
func (c *schedulerCache) setPod(pod *corev1.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := cache.Key(pod)
	old := c.pods[key]
	next := c.put(key, pod, pod.Spec.NodeName)
	return old != nil && (old.uid != next.uid || old.node != next.node || old.requests != next.requests || !maps.Equal(old.extras, next.extras) || old.ended != next.ended)
}

// put counts a pod on a node, instead of what was counted for its key.
func (c *schedulerCache) put(key string, pod *corev1.Pod, node string) *podState {
	c.take(key)
	next := &podState{uid: pod.UID, node: node, requests: requestsOf(&pod.Spec), extras: extrasOf(&pod.Spec), ports: hostPortsOf(&pod.Spec), ended: pods.HasEnded(pod)}
	c.pods[key] = next
	info := c.node(node)
	info.count(next, 1)
	if !next.ended {
		next.labels = c.labels.add(pod.Namespace, pod.Labels, info)
	}
	return next
}

// take stops counting what is counted for a key.
func (c *schedulerCache) take(key string) {
	old := c.pods[key]
	if old == nil {
		return
	}
	delete(c.pods, key)
	info := c.nodes[old.node]
	info.count(old, -1)
	if old.labels != nil {
		c.labels.remove(old.labels, info)
	}
	c.drop(info)
}

// remove stops counting a pod, unless another one has its name now. It reports whether that made
// room.
func (c *schedulerCache) remove(key string, uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.pods[key]; old == nil || old.uid != uid {
		return false
	}
	c.take(key)
	return true
}

// assume chooses a node for a pod, and counts the pod there until an informer shows where it is.
// A pod that is counted already gets none. The errors are those of schedule.
func (c *schedulerCache) assume(pod *corev1.Pod, selectors []map[string]string) (node string, err error) {
	want := wantedBy(&pod.Spec)
	c.mu.Lock()
	defer c.mu.Unlock()
	key := cache.Key(pod)
	if there := c.pods[key]; there != nil && there.uid == pod.UID {
		return "", nil
	}
	want.alike = c.labels.count(pod.Namespace, selectors)
	best, err := schedule(want, c.known, c.turn)
	if err != nil {
		return "", err
	}
	c.turn++
	c.put(key, pod, best.name).assumed = pod
	return best.name, nil
}

// assumed returns the pod that is assumed on a node for a key, although it is not known whether
// it is bound there; nil if there is none.
func (c *schedulerCache) assumed(key string) (pod *corev1.Pod, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there := c.pods[key]; there != nil && !there.bound {
		return there.assumed, there.node
	}
	return nil, ""
}

// finishBinding notes that an assumed pod is bound.
func (c *schedulerCache) finishBinding(key string, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there := c.pods[key]; there != nil && there.uid == uid {
		there.bound = true
	}
}

// forget stops counting a pod, unless an informer has shown where it is.
func (c *schedulerCache) forget(key string, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there := c.pods[key]; there != nil && there.uid == uid && there.assumed != nil {
		c.take(key)
	}
}
