package kubelet_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestARestartPolicyTellsWhatBecomesOfWhatExits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy corev1.RestartPolicy
		code   string
		is     string
	}{
		{corev1.RestartPolicyAlways, "0", "Running 0/1 CrashLoopBackOff, 1 restarts"},
		{corev1.RestartPolicyAlways, "1", "Running 0/1 CrashLoopBackOff, 1 restarts"},
		{corev1.RestartPolicyOnFailure, "0", "Succeeded 0/1 Completed 0, 0 restarts"},
		{corev1.RestartPolicyOnFailure, "1", "Running 0/1 CrashLoopBackOff, 1 restarts"},
		{corev1.RestartPolicyNever, "0", "Succeeded 0/1 Completed 0, 0 restarts"},
		{corev1.RestartPolicyNever, "7", "Failed 0/1 Error 7, 0 restarts"},
	} {
		t.Run(string(test.policy)+" "+test.code, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startKubelet(t)
				c.create(makePod("job", policy(test.policy), told("exit-after", "2s"), told("exit-code", test.code)))
				pass(time.Second)
				assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("job"))
				pass(5 * time.Second)
				assert.Equal(t, test.is, c.glance("job"))
				pass(2 * time.Minute)
				assert.True(t, c.exists("job"), "nobody deletes it")
			})
		})
	}
}

func TestWhatHasEndedForGoodIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("good", policy(corev1.RestartPolicyNever), told("exit-after", "2s")))
		c.create(makePod("bad", policy(corev1.RestartPolicyNever), told("exit-after", "2s"), told("exit-code", "3")))
		pass(5 * time.Second)
		good, bad := c.get("good"), c.get("bad")
		assert.Equal(t, []string{"PodReadyToStartContainers=False", "Initialized=True PodCompleted", "Ready=False PodCompleted", "ContainersReady=False PodCompleted"}, conditionsOf(good))
		assert.Equal(t, []string{"PodReadyToStartContainers=False", "Initialized=True", "Ready=False PodFailed", "ContainersReady=False PodFailed"}, conditionsOf(bad))
		ended := good.Status.ContainerStatuses[0].State.Terminated
		assert.Equal(t, 2*time.Second, ended.FinishedAt.Sub(ended.StartedAt.Time))
		assert.Equal(t, good.Status.ContainerStatuses[0].ContainerID, ended.ContainerID)
		assert.Equal(t, "127.1.2.1", good.Status.PodIP, "the address stays the pod's as long as that is there")

		c.delete("good", -1)
		pass(time.Second)
		assert.False(t, c.exists("good"))
	})
}

func TestAContainerThatCrashesIsStartedAgainAfterLongerAndLongerPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("crash", told("exit-after", "1s"), told("exit-code", "1")))
		pass(5 * time.Second)
		status := c.get("crash").Status.ContainerStatuses[0]
		require.NotNil(t, status.State.Waiting)
		uid := string(c.get("crash").UID)
		assert.Equal(t, "back-off 10s restarting failed container=web pod=crash_default("+uid+")", status.State.Waiting.Message)
		assert.Equal(t, int32(1), status.LastTerminationState.Terminated.ExitCode)
		assert.Equal(t, []string{"BackOff: Back-off restarting failed container web in pod crash_default(UID)"}, c.events.of("BackOff"))
		pass(20 * time.Minute)
		ran := time.Second + startAfter
		require.GreaterOrEqual(t, len(c.events.pauses()), 8)
		assert.Equal(t, []time.Duration{
			ran, 10*time.Second + ran, 20*time.Second + ran, 40*time.Second + ran, 80*time.Second + ran, 160*time.Second + ran, 5*time.Minute + ran, 5*time.Minute + ran,
		}, c.events.pauses()[:8])
		assert.Contains(t, c.get("crash").Status.ContainerStatuses[0].State.Waiting.Message, "back-off 5m0s restarting")
	})
}

func TestAContainerThatRanForTenMinutesIsStartedAgainAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("slow", told("exit-after", "10m"), told("exit-code", "1")))
		pass(35 * time.Minute)
		ran := 10*time.Minute + startAfter
		assert.Equal(t, []time.Duration{ran, ran, ran}, c.events.pauses())
		assert.Empty(t, c.events.of("BackOff"))
	})
}

func TestInitContainersRunOneAfterTheOtherBeforeTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web", told("exit-after.first", "1s"), told("exit-after.second", "1s"), func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "i"}, {Name: "second", Image: "i"}}
		}))
		pass(500 * time.Millisecond)
		pod := c.get("web")
		assert.NotNil(t, pod.Status.InitContainerStatuses[0].State.Running)
		assert.Equal(t, "PodInitializing", pod.Status.InitContainerStatuses[1].State.Waiting.Reason)
		assert.Equal(t, "Pending 0/1 PodInitializing, 0 restarts", c.glance("web"))
		assert.Equal(t, []string{
			"PodReadyToStartContainers=True", "Initialized=False ContainersNotInitialized", "Ready=False ContainersNotReady", "ContainersReady=False ContainersNotReady",
		}, conditionsOf(pod))
		assert.Equal(t, "containers with incomplete status: [first second]", pod.Status.Conditions[1].Message)
		assert.Equal(t, "containers with unready status: [web]", pod.Status.Conditions[2].Message)
		pass(3 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web"))
		pod = c.get("web")
		assert.True(t, pod.Status.InitContainerStatuses[0].Ready)
		assert.Equal(t, "Completed", pod.Status.InitContainerStatuses[1].State.Terminated.Reason)
		assert.Equal(t, []string{"Started: Started container first", "Started: Started container second", "Started: Started container web"}, c.events.of("Started"))
	})
}

func TestAContainerThatStartsWaitsForThePodToInitializeIfThatHasInitContainers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web", told("exit-after.first", "1s"), func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "i"}}
		}))
		pass(startAfter / 2)
		assert.Equal(t, "PodInitializing", c.get("web").Status.InitContainerStatuses[0].State.Waiting.Reason)
		pass(startAfter + time.Second)
		assert.NotNil(t, c.get("web").Status.InitContainerStatuses[0].State.Terminated)
		assert.Equal(t, "Pending 0/1 PodInitializing, 0 restarts", c.glance("web"))
	})
}

func TestAnInitContainerThatFailsIsTriedAgainOrFailsThePod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		first := func(pod *corev1.Pod) { pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "i"}} }
		c.create(makePod("always", told("exit-code.first", "1"), first))
		c.create(makePod("never", told("exit-code.first", "1"), first, policy(corev1.RestartPolicyNever)))
		pass(5 * time.Second)
		assert.Equal(t, "Pending 0/1 PodInitializing, 0 restarts", c.glance("always"))
		assert.Equal(t, "CrashLoopBackOff", c.get("always").Status.InitContainerStatuses[0].State.Waiting.Reason)
		assert.Equal(t, "Failed 0/1 PodInitializing, 0 restarts", c.glance("never"))
		assert.NotContains(t, c.events.of("Started"), "Started: Started container web")
	})
}

func TestASidecarRunsBesideTheOthersAndEndsAfterThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		always := corev1.ContainerRestartPolicyAlways
		c.create(makePod("job", policy(corev1.RestartPolicyNever), told("exit-after.web", "5s"), func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "i", RestartPolicy: &always}}
		}))
		pass(2 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("job"))
		assert.NotNil(t, c.get("job").Status.InitContainerStatuses[0].State.Running)
		pass(5 * time.Second)
		assert.Equal(t, "Succeeded 0/1 Completed 0, 0 restarts", c.glance("job"))
		assert.NotNil(t, c.get("job").Status.InitContainerStatuses[0].State.Terminated)
	})
}

func TestAPodThatRunsLongerThanItMayFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("long", func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = new(int64(20)) }))
		pass(15 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("long"))
		pass(10 * time.Second)
		assert.Equal(t, "Failed 0/1 Completed 0, 0 restarts", c.glance("long"))
		assert.Equal(t, "DeadlineExceeded", c.get("long").Status.Reason)
		pass(time.Minute)
		assert.Equal(t, []string{"DeadlineExceeded: Pod was active on the node longer than the specified deadline"}, c.events.of("DeadlineExceeded"))
	})
}

func TestTheMessageOfAFailureIsTheEndOfTheLogIfThePodWantsThat(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 300)
	for name, row := range map[string]struct {
		policy  corev1.TerminationMessagePolicy
		command []string
		want    string
	}{
		"it fails":         {corev1.TerminationMessageFallbackToLogsOnError, []string{"cat", "/etc/hostname", "/nope"}, "web-1\ncat: /nope: no such file or directory\n"},
		"it succeeds":      {corev1.TerminationMessageFallbackToLogsOnError, []string{"cat", "/etc/hostname"}, ""},
		"it is not wanted": {corev1.TerminationMessageReadFile, []string{"cat", "/nope"}, ""},
		"the log is long":  {corev1.TerminationMessageFallbackToLogsOnError, []string{"cat", "/" + long}, (long + ": no such file or directory\n")[len(long)+28-2048:]},
		"the log has many lines": {corev1.TerminationMessageFallbackToLogsOnError, append([]string{"cat"}, slices.Repeat([]string{"/x"}, 100)...),
			strings.Repeat("cat: /x: no such file or directory\n", 80)[80*35-2048:]},
		"the log has many short lines": {corev1.TerminationMessageFallbackToLogsOnError, append([]string{"cat"}, append(slices.Repeat([]string{"/etc/hostname"}, 100), "/x")...),
			strings.Repeat("web-1\n", 79) + "cat: /x: no such file or directory\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startKubelet(t)
				c.create(makePod("web-1", policy(corev1.RestartPolicyNever), func(pod *corev1.Pod) {
					web := &pod.Spec.Containers[0]
					web.Command, web.TerminationMessagePolicy = row.command, row.policy
				}))
				pass(time.Second)
				ended := c.get("web-1").Status.ContainerStatuses[0].State.Terminated
				require.NotNil(t, ended)
				assert.Equal(t, row.want, ended.Message)
			})
		})
	}
}

func TestAPodEndsInItsTimeIfOneOfItsNameHadLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		within := func(seconds int64) func(*corev1.Pod) {
			return func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = &seconds }
		}
		c.create(makePod("long", within(20)))
		pass(5 * time.Second)
		c.delete("long", 0)
		pass(time.Second)
		c.create(makePod("long", within(40)))
		pass(30 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("long"))
		pass(15 * time.Second)
		assert.Equal(t, "DeadlineExceeded", c.get("long").Status.Reason)
	})
}

func TestAPodThatHasEndedInItsTimeIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("job", policy(corev1.RestartPolicyNever), told("exit-after", "2s"), func(pod *corev1.Pod) {
			pod.Spec.ActiveDeadlineSeconds = new(int64(20))
		}))
		pass(time.Minute)
		assert.Equal(t, "Succeeded 0/1 Completed 0, 0 restarts", c.glance("job"))
		assert.Empty(t, c.get("job").Status.Reason)
		assert.Empty(t, c.events.of("DeadlineExceeded"))
	})
}

func TestAContainerOfAnotherImageIsStartedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1"))
		pass(time.Second)
		c.events.take()
		_, err := c.client.Pods().Change(t.Context(), "web-1", func(pod *corev1.Pod) error {
			pod.Spec.Containers[0].Image = "nginx:1.9"
			return nil
		})
		require.NoError(t, err)
		pass(time.Second)
		assert.Equal(t, "Running 1/1 running, 1 restarts", c.glance("web-1"))
		assert.Equal(t, "nginx:1.9", c.get("web-1").Status.ContainerStatuses[0].Image)
		assert.Equal(t, []string{
			"Killing: Container web definition changed, will be restarted", `Pulled: Container image "nginx:1.9" already present on machine`,
			"Created: Created container: web", "Started: Started container web",
		}, c.events.take())
	})
}
