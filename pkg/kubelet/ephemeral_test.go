package kubelet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// debug adds an ephemeral container to a pod, as kubectl debug does.
func (c *cluster) debug(pod, container string) {
	_, err := c.client.Pods().Patch(c.t.Context(), pod, types.StrategicMergePatchType, []byte(`{"spec":{"ephemeralContainers":[`+container+`]}}`), "ephemeralcontainers")
	require.NoError(c.t, err)
}

// stateOf returns the state of an ephemeral container.
func (c *cluster) stateOf(pod string, i int) corev1.ContainerState {
	statuses := c.get(pod).Status.EphemeralContainerStatuses
	require.Greater(c.t, len(statuses), i)
	assert.False(c.t, statuses[i].Ready)
	assert.Nil(c.t, statuses[i].Started)
	assert.Zero(c.t, statuses[i].RestartCount)
	return statuses[i].State
}

func TestAnEphemeralContainerRunsOnceBesideTheOthersOfItsPod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.createConfigMap("config", map[string]string{"color": "green"})
		c.create(makePod("web-1", withVolume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})))
		pass(time.Second)
		id := c.get("web-1").Status.ContainerStatuses[0].ContainerID
		c.debug("web-1", `{"name":"debug","image":"busybox","stdin":true,"command":["cat","-"],"targetContainerName":"web",
			"env":[{"name":"C","valueFrom":{"configMapKeyRef":{"name":"config","key":"color"}}}],"volumeMounts":[{"name":"v","mountPath":"/v"}]},
			{"name":"other","image":"busybox","command":["sh","-c","exit 3"]}`)
		pass(time.Second)
		assert.NotNil(t, c.stateOf("web-1", 0).Running)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		assert.Equal(t, id, c.get("web-1").Status.ContainerStatuses[0].ContainerID, "it has not started again")
		assert.Contains(t, c.ask(machine+":10250/containerLogs/default/web-1/other"), `there is no "sh" here`)
		assert.Contains(t, c.events.take(), "Started: Started container debug")

		c.delete("web-1", -1)
		pass(time.Second)
		assert.False(t, c.exists("web-1"))
	})
}

func TestAnEphemeralContainerThatHasEndedDoesNotRunAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1"))
		pass(time.Second)
		c.debug("web-1", `{"name":"debug","image":"busybox","command":["exit","3"]}`)
		pass(time.Minute)
		require.NotNil(t, c.stateOf("web-1", 0).Terminated)
		assert.EqualValues(t, 3, c.stateOf("web-1", 0).Terminated.ExitCode)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		c.stop()
		c.events.take()
		c.start()
		pass(time.Minute)
		assert.Equal(t, "Running 1/1 running, 1 restarts", c.glance("web-1"))
		assert.EqualValues(t, 3, c.stateOf("web-1", 0).Terminated.ExitCode)
		assert.Equal(t, []string{"Started: Started container web"}, c.events.of("Started"))
	})
}

func TestAnEphemeralContainerEndsWithItsPod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("job", told("exit-after.web", "10s"), policy(corev1.RestartPolicyNever)))
		pass(time.Second)
		c.debug("job", `{"name":"debug","image":"busybox"}`)
		pass(time.Second)
		assert.NotNil(t, c.stateOf("job", 0).Running)
		pass(10 * time.Second)
		assert.NotNil(t, c.stateOf("job", 0).Terminated)
		assert.Equal(t, "Succeeded 0/1 Completed 0, 0 restarts", c.glance("job"))
	})
}
