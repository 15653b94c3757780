package kubelet_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAPodThatIsDeletedHasItsTimeToEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("slow", told("stop-after", "20s")))
		c.create(makePod("patient", told("stop-after", "20s")))
		c.create(makePod("stubborn", told("stop-after", "1h"), func(pod *corev1.Pod) { pod.Finalizers = []string{"example.org/stay"} }))
		pass(time.Second)
		c.delete("slow", -1)
		c.delete("stubborn", 10)
		c.delete("patient", math.MaxInt64)
		pass(5 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("slow"))
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("patient"))
		pass(10 * time.Second)
		assert.Equal(t, "Failed 0/1 Error 137, 0 restarts", c.glance("stubborn"), "it was killed")
		assert.True(t, c.exists("slow"))
		pass(10 * time.Second)
		assert.False(t, c.exists("slow"))

		_, err := c.client.Pods().Change(t.Context(), "stubborn", func(pod *corev1.Pod) error { pod.Finalizers = nil; return nil })
		require.NoError(t, err)
		pass(time.Second)
		assert.False(t, c.exists("stubborn"), "its finalizer is gone")
	})
}

func TestASecondDeleteCanOnlyShortenTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("slow", told("stop-after", "1h")))
		pass(time.Second)
		c.delete("slow", 60)
		pass(10 * time.Second)
		c.delete("slow", 100)
		c.delete("slow", 5)
		pass(4 * time.Second)
		assert.True(t, c.exists("slow"))
		pass(2 * time.Second)
		assert.False(t, c.exists("slow"))
	})
}

func TestAPodThatIsRemovedOutrightStopsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", told("stop-after", "1h"), withPort))
		pass(time.Second)
		assert.Equal(t, "web-1 on 127.0.0.2 (web)\n", c.ask("127.1.2.1:80"))
		c.delete("web-1", 0)
		pass(time.Second)
		assert.Equal(t, "nobody listens", c.ask("127.1.2.1:80"))
		c.create(makePod("web-2", withPort))
		pass(time.Second)
		assert.Equal(t, "web-2 on 127.0.0.2 (web)\n", c.ask("127.1.2.1:80"), "its address was given back")
	})
}

func TestAPodIsDeletedBeforeItHasStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("late", told("start-after", "1h")))
		c.create(makePod("init", told("exit-after.first", "1h"), func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "i"}}
		}))
		pass(time.Second)
		c.delete("late", -1)
		c.delete("init", -1)
		pass(time.Second)
		assert.False(t, c.exists("late"))
		assert.False(t, c.exists("init"))
	})
}

func TestAPodOfTheSameNameStartsWhenTheOneBeforeHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		first := c.create(makePod("web-1", withPort))
		pass(time.Second)
		c.Stop() // the kubelet sees nothing of what others do now
		c.Restart()
		c.delete("web-1", 0)
		second := c.create(makePod("web-1", withPort))
		require.NotEqual(t, first.UID, second.UID)
		pass(30 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		assert.Equal(t, []string{"Killing: Stopping container web"}, c.events.of("Killing"))
		assert.Equal(t, "127.1.2.1", c.get("web-1").Status.PodIP)
		assert.NotEqual(t, first.UID, c.get("web-1").UID)
		assert.Equal(t, "web-1 on 127.0.0.2 (web)\n", c.ask("127.1.2.1:80"))
	})
}

func TestAPodOnAnotherMachineIsNotOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("other", func(pod *corev1.Pod) { pod.Spec.NodeName = "127.0.0.3" }))
		unbound := c.create(makePod("unbound", func(pod *corev1.Pod) { pod.Spec.NodeName = "" }))
		pass(time.Minute)
		assert.Empty(t, c.get("other").Status.ContainerStatuses)
		assert.Empty(t, c.get("unbound").Status.ContainerStatuses)
		require.NoError(t, c.client.Pods().Bind(t.Context(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: "unbound", UID: unbound.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: machine},
		}))
		pass(time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("unbound"))
	})
}
