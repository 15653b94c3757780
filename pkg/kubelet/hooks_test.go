package kubelet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func runs(command ...string) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}
}

func sleeps(seconds int64) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}
}

// hooked gives a pod's container hooks, and the pod a grace period in seconds.
func hooked(postStart, preStop *corev1.LifecycleHandler, grace int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: postStart, PreStop: preStop}
		pod.Spec.TerminationGracePeriodSeconds = &grace
	}
}

func TestAContainerIsStoppedAfterItsHook(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		hook   *corev1.LifecycleHandler
		grace  int64 // of the deletion; that of the pod is 30 seconds
		ends   time.Duration
		failed bool
	}{
		"a pause":                      {sleeps(5), 30, 5 * time.Second, false},
		"a pause that is too long":     {sleeps(20), 10, 10 * time.Second, false},
		"a command":                    {runs("sleep", "5"), 30, 5 * time.Second, false},
		"a command that takes long":    {runs("sleep", "1h"), 10, 10 * time.Second, false},
		"a command that fails":         {runs("cat", "/nope"), 30, 0, true},
		"a command that is not there":  {runs("sh", "-c", "sleep 5"), 30, 0, false},
		"none, since there is no time": {sleeps(5), 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startKubelet(t)
				c.create(makePod("web-1", hooked(nil, row.hook, 30)))
				pass(time.Second)
				c.delete("web-1", row.grace)
				if row.ends > 0 {
					pass(row.ends - time.Millisecond)
					require.True(t, c.exists("web-1"))
					assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
				}
				pass(500 * time.Millisecond)
				assert.False(t, c.exists("web-1"))
				assert.Equal(t, row.failed, len(c.events.of("FailedPreStopHook")) > 0)
				if row.grace > 0 {
					assert.Len(t, c.events.of("Killing"), 1)
				}
			})
		})
	}
}

func TestAContainerHasAMomentToStopAfterALongHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", hooked(nil, sleeps(20), 30), told("stop-after", "1h")))
		pass(time.Second)
		c.delete("web-1", 10)
		pass(11 * time.Second)
		assert.True(t, c.exists("web-1"))
		pass(2 * time.Second)
		assert.False(t, c.exists("web-1"))
	})
}

func TestAHookEndsWhenItsPodIsDeletedAtOnceOrTheKubeletEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		for _, name := range []string{"gone", "stays"} {
			c.create(makePod(name, withPort, hooked(sleeps(3600), sleeps(3600), 7200)))
		}
		pass(time.Second)
		c.delete("gone", -1)
		c.delete("stays", -1)
		pass(time.Minute)
		c.delete("gone", 0)
		pass(time.Second)
		assert.Equal(t, "nobody listens", c.ask("127.1.2.1:80"))
		assert.NotEqual(t, "nobody listens", c.ask("127.1.2.2:80"))
		began := time.Now()
		c.stop()
		assert.Equal(t, began, time.Now())
	})
}

func TestAHookGivesNoTimeThatThereIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", withPort, hooked(nil, sleeps(5), 30), told("stop-after", "1h")))
		pass(time.Second)
		c.delete("web-1", 0)
		pass(time.Second)
		assert.Equal(t, "nobody listens", c.ask("127.1.2.1:80"))
	})
}

func TestAHookEndsWhenItsPodGetsLessTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", hooked(nil, sleeps(20), 30), told("stop-after", "5s")))
		pass(time.Second)
		c.delete("web-1", -1)
		pass(time.Second)
		c.delete("web-1", 10)
		pass(4 * time.Second)
		assert.True(t, c.exists("web-1"), "it is stopping")
		pass(2 * time.Second)
		assert.False(t, c.exists("web-1"))
	})
}

func TestAContainerThatExitsDuringItsHookIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", hooked(nil, runs("sleep", "1h"), 7200), told("exit-after", "10s")))
		pass(time.Second)
		c.delete("web-1", -1)
		pass(10 * time.Second)
		assert.False(t, c.exists("web-1"))
		assert.Empty(t, c.events.of("FailedPreStopHook"))
	})
}

func TestAContainerWhoseHookFailsWhenItHasStartedIsKilled(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		hook   *corev1.LifecycleHandler
		glance string
		events []string
	}{
		"it fails":        {runs("false"), "Running 0/1 CrashLoopBackOff, 1 restarts", []string{"FailedPostStartHook: PostStartHook failed", "FailedPostStartHook: PostStartHook failed"}},
		"it succeeds":     {runs("true"), "Running 1/1 running, 0 restarts", nil},
		"it pauses":       {sleeps(1), "Running 1/1 running, 0 restarts", nil},
		"it is not there": {runs("sh"), "Running 1/1 running, 0 restarts", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startKubelet(t)
				c.create(makePod("web-1", hooked(row.hook, nil, 30)))
				pass(5 * time.Second)
				assert.Equal(t, row.glance, c.glance("web-1"))
				assert.Equal(t, row.events, c.events.of("FailedPostStartHook"))
				if row.events != nil {
					assert.Contains(t, c.events.of("Killing"), "Killing: FailedPostStartHook")
				}
			})
		})
	}
}
