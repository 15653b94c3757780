package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
)

// assume chooses a node for a pod, and counts the pod there until an informer shows where it is.
// A pod that is counted already gets none. The errors are those of schedule.
func (c *cluster) assume(pod *corev1.Pod, selectors []map[string]string) (node string, err error) {
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

// unsettled returns the pod that is assumed on a node for a key, although it is not known whether
// it is bound there; nil if there is none.
func (c *cluster) unsettled(key string) (pod *corev1.Pod, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there := c.pods[key]; there != nil && !there.bound {
		return there.assumed, there.node
	}
	return nil, ""
}

// settle notes that an assumed pod is bound.
func (c *cluster) settle(key string, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there := c.pods[key]; there != nil && there.uid == uid {
		there.bound = true
	}
}

// unassume stops counting a pod, unless an informer has shown where it is.
func (c *cluster) unassume(key string, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there := c.pods[key]; there != nil && there.uid == uid && there.assumed != nil {
		c.take(key)
	}
}
