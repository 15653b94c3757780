package kubelet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/util/pods"
)

// K115.
func TestAPodIsNotReadyAsLongAsAPortOfItIsNotOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		taken, err := c.network.Listen("tcp", "127.1.2.1:80")
		require.NoError(t, err)
		c.create(makePod("web-1", withPort, func(pod *corev1.Pod) {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "other", Image: "i"})
		}))
		pass(time.Minute)
		assert.Equal(t, "Running 1/2 running + running, 0 restarts", c.glance("web-1"))
		pod := c.get("web-1")
		for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
			condition := pods.Condition(pod.Status.Conditions, kind)
			assert.Equal(t, corev1.ConditionFalse, condition.Status)
			assert.Equal(t, "ContainersBlocked", condition.Reason)
			assert.Regexp(t, `^containers with unready status: \[web\]; container web cannot listen on 127\.1\.2\.1:80: .*address already in use$`, condition.Message)
		}
		assert.True(t, *pod.Status.ContainerStatuses[0].Started, "it runs")
		require.NoError(t, taken.Close())
		pass(time.Minute)
		assert.Equal(t, "Running 2/2 running + running, 0 restarts", c.glance("web-1"))
		assert.Equal(t, []string{"PodReadyToStartContainers=True", "Initialized=True", "Ready=True", "ContainersReady=True"}, conditionsOf(c.get("web-1")))
		assert.Equal(t, "web-1 on 127.0.0.2 (web)\n", c.ask("127.1.2.1:80"))
		assert.Len(t, c.events.of("FailedListen"), 1)
	})
}
