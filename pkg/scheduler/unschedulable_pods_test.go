package scheduler

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/util/workqueue"
)

func TestHeartbeatsWakeNobodyAndPodsThatFitNowhereCostLittle(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		const pods = 1000
		b.node("n", having("1", ""), ready(corev1.ConditionTrue))
		for n := range pods {
			b.pod(fmt.Sprint("p", n), requesting("2", ""))
		}
		requests := b.countRequests()
		var tries atomic.Int64
		client := b.Client(t, "scheduler")
		objects := informers.New(client, 0)
		s := New(Config{Client: client, Informers: objects, Recorder: b, Around: func(sync workqueue.Sync) workqueue.Sync {
			return func(ctx context.Context, key string) error { tries.Add(1); return sync(ctx, key) }
		}})
		objects.Run(t.Context())
		go s.Run(t.Context())
		for range 60 {
			settle(10 * time.Second)
			b.changeNodeStatus("n", func(node *corev1.Node) { node.Status.Conditions[0].LastHeartbeatTime = metav1.Now() })
			_, err := b.client.Pods().Change(t.Context(), "p0", func(pod *corev1.Pod) error {
				metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "now", time.Now().String())
				return nil
			})
			require.NoError(t, err)
		}
		// At once, after 1, 2, 4, 8, 16, 32 seconds, and then once a minute.
		assert.InDelta(t, 15*pods, tries.Load(), 30)
		assert.Equal(t, pods, requests("PATCH status"))
		assert.Equal(t, 0, requests("POST binding"))
		assert.LessOrEqual(t, len(b.takeEvents()), 3*pods)
	})
}

// again notes which keys are to be tried again, and after how many seconds.
type again struct {
	mu    sync.Mutex
	began time.Time
	lines []string
}

func (a *again) note(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, fmt.Sprintf("%s after %v", key, time.Since(a.began)))
}

func (a *again) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	lines := a.lines
	a.lines = nil
	return lines
}

func newAgain() (*again, *unschedulablePods) {
	a := &again{began: time.Now()}
	return a, newUnschedulablePods(a.note)
}

func TestThePauseOfAPodGrowsToAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, w := newAgain()
		for _, pause := range []string{"1s", "2s", "4s", "8s", "16s", "32s", "1m0s", "1m0s"} {
			a.began = time.Now()
			w.add("p", "u", "why", w.now())
			settle(2 * time.Minute)
			assert.Equal(t, []string{"p after " + pause}, a.take())
		}
		a.began = time.Now()
		w.add("p", "another", "why", w.now())
		settle(2 * time.Minute)
		assert.Equal(t, []string{"p after 1s"}, a.take(), "a pod of the same name begins anew")
	})
}

func TestAChangeLetsPodsBeTriedAgainInTheirOrderButNotWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, w := newAgain()
		fail := func(keys ...string) {
			for _, key := range keys {
				w.add(key, "u", "why", w.now())
			}
		}
		fail("c", "a", "b")
		settle(time.Second)
		fail("b", "a", "c") // the next time is after two seconds
		settle(1500 * time.Millisecond)
		fail("d")
		a.take()
		w.changed()
		w.changed()
		settle(0)
		assert.Equal(t, []string{"c after 2.5s", "a after 2.5s", "b after 2.5s"}, a.take())
		settle(time.Minute)
		assert.Equal(t, []string{"d after 3.5s"}, a.take())
	})
}

func TestAChangeWhileAPodIsTriedIsNotMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, w := newAgain()
		for range 10 {
			w.add("p", "u", "why", w.now())
			settle(time.Minute)
		}
		a.take()
		a.began = time.Now()
		since := w.now()
		w.changed()
		w.add("p", "u", "why", since)
		settle(time.Minute / 2)
		assert.Equal(t, []string{"p after 1s"}, a.take())
	})
}

// K79.
func TestAReasonIsToldWhenItIsNewAndAfterAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, w := newAgain()
		told := func(why string) bool { return w.add("p", "u", why, w.now()) }
		assert.True(t, told("a"))
		assert.False(t, told("a"))
		assert.True(t, told("b"))
		settle(eventPause)
		assert.True(t, told("b"))
		assert.False(t, told("b"))
		w.remove("p")
		assert.True(t, told("b"))
		w.remove("p")
	})
}

func TestPodsThatAreRemovedAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, w := newAgain()
		w.add("gone", "u", "why", w.now())
		w.remove("gone")
		w.remove("never there")
		settle(time.Minute)
		assert.Empty(t, a.take())
	})
}

func TestPodsThatWereThereBeforeArePlacedInTheOrderInWhichTheyCame(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.node("n", having("2", ""))
		for _, name := range []string{"z", "y", "x", "w"} {
			b.pod(name, requesting("1", ""))
			settle(time.Second)
		}
		b.run("")
		settle(time.Minute)
		for name, node := range map[string]string{"z": "n", "y": "n", "x": "", "w": ""} {
			assert.Equal(t, node, b.get(name).Spec.NodeName, name)
		}
	})
}

func TestAStatusThatSaysItAlreadyIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	earlier, now := metav1.Unix(1, 0), metav1.Unix(2, 0)
	pod := makePod("p")
	require.Contains(t, string(patchFor(pod, "why", now)), `"lastTransitionTime":"1970-01-01T00:00:02Z"`)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "why", LastTransitionTime: earlier}}
	assert.Nil(t, patchFor(pod, "why", now))
	assert.Contains(t, string(patchFor(pod, "why not", now)), `"lastTransitionTime":"1970-01-01T00:00:01Z"`, "only the message is new")
	pod.Generation++
	assert.Contains(t, string(patchFor(pod, "why", now)), `"observedGeneration":1`, "it is told of the pod as it is now")
}
