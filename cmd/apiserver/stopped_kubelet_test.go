package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAMachineWhoseKubeletIsStoppedIsHeldForDeadAndComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, "-run all -machines 127.0.0.1,127.0.0.2,127.0.0.3")
		c.createController("web", 6)
		c.eventually(time.Minute, "all are ready", func() bool { return c.ready() == 6 && c.ready("127.0.0.2") == 2 })
		_, err := c.client.Pods().Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bare"},
			Spec: corev1.PodSpec{NodeName: "127.0.0.2", Containers: nginx().Containers}})
		require.NoError(t, err)
		c.eventually(time.Minute, "the bare pod is ready", func() bool { return c.ready("127.0.0.2") == 3 })
		_, err = c.client.Nodes().Change(t.Context(), "127.0.0.2", func(node *corev1.Node) error {
			metav1.SetMetaDataAnnotation(&node.ObjectMeta, "hollow.kube2014/stop-kubelet", time.Now().Add(2*time.Minute).Format(time.RFC3339))
			return nil
		})
		require.NoError(t, err)
		time.Sleep(time.Second) // it does not wait for its next heartbeat
		_, err = c.client.Pods().Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "late"},
			Spec: corev1.PodSpec{NodeName: "127.0.0.2", Containers: nginx().Containers}})
		require.NoError(t, err)
		isAlive := func() bool {
			node, err := c.client.Nodes().Get(t.Context(), "127.0.0.2")
			require.NoError(t, err)
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady {
					return condition.Status == corev1.ConditionTrue
				}
			}
			return false
		}
		c.eventually(time.Minute, "its node is not ready", func() bool { return !isAlive() })
		c.eventually(time.Minute, "six are ready elsewhere", func() bool { return c.ready("127.0.0.1", "127.0.0.3") == 6 })
		assert.Empty(t, c.pods()["late"].Status.ContainerStatuses)
		assert.False(t, isAlive())

		c.eventually(2*time.Minute, "its node is ready again", isAlive)
		c.eventually(time.Minute, "the pods that nobody replaces run there", func() bool { return c.ready("127.0.0.2") == 2 })
		assert.Equal(t, 8, c.ready())
		bare := c.pods()["bare"]
		assert.Zero(t, bare.Status.ContainerStatuses[0].RestartCount, "it has run on")
	})
}
