package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
)

// requireSums checks the sums of a cache against those of a new one that is told the same.
func requireSums(t *testing.T, c *schedulerCache, nodes map[string]*corev1.Node, pods map[string]*corev1.Pod) {
	want := newSchedulerCache()
	for _, node := range nodes {
		want.setNode(node)
	}
	for _, pod := range pods {
		want.setPod(pod)
	}
	require.Len(t, c.nodes, len(want.nodes))
	require.Len(t, c.known, len(want.known))
	for name, node := range want.nodes {
		require.Equal(t, node, c.nodes[name])
	}
	require.Len(t, c.pods, len(want.pods))
	require.Len(t, c.labels, len(want.labels))
	for namespace, sets := range want.labels {
		require.Len(t, c.labels[namespace], len(sets))
		for key, set := range sets {
			got := map[string]int{}
			for node, count := range c.labels[namespace][key].nodes {
				got[node.name] = count
			}
			for node, count := range set.nodes {
				require.Equal(t, count, got[node.name])
			}
			require.Len(t, got, len(set.nodes))
		}
	}
}

func TestTheSumsAreThoseOfThePods(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // no secret
	c := newSchedulerCache()
	nodes, pods := map[string]*corev1.Node{}, map[string]*corev1.Pod{}
	for step := range 5000 {
		node := fmt.Sprint("n", random.IntN(4))
		name := fmt.Sprint("p", random.IntN(12))
		switch random.IntN(10) {
		case 0:
			nodes[node] = makeNode(node, having(fmt.Sprint(1+random.IntN(3)), ""), cordoned(random.IntN(2) == 0))
			c.setNode(nodes[node])
		case 1:
			c.removeNode(node)
			delete(nodes, node)
		case 2, 3:
			if pod := pods[name]; pod != nil {
				c.remove(cache.Key(pod), pod.UID)
				delete(pods, name)
			}
		default:
			pod := makePod(name, requesting(fmt.Sprint(random.IntN(900), "m"), "1Mi"), withHostPort(int32(80+random.IntN(3))), labelled(fmt.Sprint(random.IntN(3))))
			pod.UID = types.UID(fmt.Sprint(step))
			if random.IntN(4) == 0 {
				ended(pod)
			}
			if random.IntN(2) == 0 {
				pod.Spec.NodeName = node
				c.setPod(pod)
			} else if chosen, err := c.assume(pod, nil); err == nil {
				require.NotEmpty(t, chosen)
				pod.Spec.NodeName = chosen
			} else {
				continue
			}
			pods[name] = pod
		}
		requireSums(t, c, nodes, pods)
	}
}

func TestAnAssumedPodCountsUntilItIsSeenOrRefused(t *testing.T) {
	t.Parallel()
	c := newSchedulerCache()
	c.setNode(makeNode("n", having("1", "")))
	first, second := makePod("first", requesting("1", "")), makePod("second", requesting("1", ""))
	first.UID, second.UID = "1", "2"
	node, err := c.assume(first, nil)
	require.NoError(t, err)
	require.Equal(t, "n", node)
	again, err := c.assume(first, nil)
	require.NoError(t, err)
	assert.Empty(t, again, "it has its place")
	_, err = c.assume(second, nil)
	require.Error(t, err)
	pod, _ := c.assumed("first")
	assert.Equal(t, first, pod)

	c.forget("first", "another")
	_, err = c.assume(second, nil)
	require.Error(t, err, "another pod of the name was refused")
	c.finishBinding("first", "1")
	pod, _ = c.assumed("first")
	assert.Nil(t, pod)

	seen := first.DeepCopy()
	seen.Spec.NodeName = "n"
	assert.False(t, c.setPod(seen), "that makes no room")
	c.forget("first", "1")
	_, err = c.assume(second, nil)
	require.Error(t, err, "what was seen stays")
	assert.False(t, c.remove("first", "another"))
	assert.True(t, c.remove("first", "1"))
	_, err = c.assume(second, nil)
	require.NoError(t, err)
	c.forget("second", "2")
	_, err = c.assume(first, nil)
	require.NoError(t, err)
}

func TestOnlyWhatCountsOfANodeIsAChange(t *testing.T) {
	t.Parallel()
	c := newSchedulerCache()
	assert.True(t, c.setNode(makeNode("n", ready(corev1.ConditionTrue), having("1", ""))))
	for _, test := range []struct {
		edit    func(*corev1.Node)
		changes bool
	}{
		{func(node *corev1.Node) { node.Annotations = map[string]string{"a": "b"} }, false},
		{func(node *corev1.Node) { node.Status.Conditions[0].Message = "still here" }, false},
		{func(node *corev1.Node) { node.Status.Allocatable = list("1000m", "") }, false},
		{func(node *corev1.Node) {
			node.Spec.Taints = []corev1.Taint{{Effect: corev1.TaintEffectPreferNoSchedule}}
		}, false},
		{ready(corev1.ConditionFalse), true},
		{cordoned(true), true},
		{having("2", ""), true},
		{tainted(corev1.Taint{Effect: corev1.TaintEffectNoSchedule}), true},
		{nodeLabels(map[string]string{"a": "b"}), true},
	} {
		node := makeNode("n", ready(corev1.ConditionTrue), having("1", ""), test.edit)
		assert.Equal(t, test.changes, c.setNode(node))
		c.setNode(makeNode("n", ready(corev1.ConditionTrue), having("1", "")))
	}
}
