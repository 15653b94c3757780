package kubelet_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probed returns a change of a pod by a probe of its container, which asks for a path each second.
func probed(set func(*corev1.Container, *corev1.Probe), path string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		container := &pod.Spec.Containers[0]
		container.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}
		set(container, &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http")}},
			PeriodSeconds: 1, FailureThreshold: 3,
		})
	}
}

func readiness(c *corev1.Container, p *corev1.Probe) { c.ReadinessProbe = p }
func liveness(c *corev1.Container, p *corev1.Probe)  { c.LivenessProbe = p }
func startup(c *corev1.Container, p *corev1.Probe)   { c.StartupProbe = p }

// K76.
func TestAContainerIsReadyAsItsProbeSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", probed(readiness, "/ready"), told("unready", "true")))
		pass(5 * time.Second)
		assert.Equal(t, "Running 0/1 running, 0 restarts", c.glance("web-1"))
		assert.Contains(t, c.events.take(), "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503")
		c.annotate("web-1", "unready", "false")
		pass(2 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		assert.Contains(t, conditionsOf(c.get("web-1")), "Ready=True")
		c.annotate("web-1", "unready", "true")
		pass(1500 * time.Millisecond)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"), "one failure does not count yet")
		pass(3 * time.Second)
		assert.Equal(t, "Running 0/1 running, 0 restarts", c.glance("web-1"))
		assert.Contains(t, conditionsOf(c.get("web-1")), "Ready=False ContainersNotReady")
	})
}

func TestAContainerThatIsNotAliveIsStartedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", probed(liveness, "/healthz")))
		pass(10 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		c.annotate("web-1", "unhealthy", "true")
		pass(2300 * time.Millisecond)
		c.annotate("web-1", "unhealthy", "false")
		pass(2 * time.Second)
		assert.Equal(t, "Running 1/1 running, 1 restarts", c.glance("web-1"))
		assert.Equal(t, []string{"Killing: Container web failed liveness probe, will be restarted"}, c.events.of("Killing"))
		assert.Len(t, c.events.of("Unhealthy"), 3)
		pass(time.Minute)
		assert.Equal(t, "Running 1/1 running, 1 restarts", c.glance("web-1"))
	})
}

func TestAProbeThatFailsDoesNotShortenTheTimeOfAPodThatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", probed(liveness, "/healthz"), told("stop-after", "20s"), func(pod *corev1.Pod) {
			pod.Spec.Containers[0].LivenessProbe.TerminationGracePeriodSeconds = new(int64(1))
		}))
		pass(time.Second)
		c.delete("web-1", -1)
		c.annotate("web-1", "unhealthy", "true")
		pass(15 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		assert.Equal(t, []string{"Killing: Stopping container web"}, c.events.of("Killing"))
		pass(10 * time.Second)
		assert.False(t, c.exists("web-1"))
	})
}

func TestNothingElseIsProbedUntilAContainerHasStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", probed(startup, "/started"), func(pod *corev1.Pod) {
			container := &pod.Spec.Containers[0]
			container.StartupProbe.FailureThreshold = 30
			container.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}, PeriodSeconds: 1}
		}, told("unhealthy", "true")))
		pass(10 * time.Second)
		status := c.get("web-1").Status.ContainerStatuses[0]
		assert.False(t, *status.Started)
		assert.False(t, status.Ready)
		c.annotate("web-1", "unhealthy", "false")
		pass(3 * time.Second)
		status = c.get("web-1").Status.ContainerStatuses[0]
		assert.True(t, *status.Started)
		assert.True(t, status.Ready)
		assert.Zero(t, status.RestartCount)
	})
}

func TestAContainerThatDoesNotStartInTimeIsKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", probed(startup, "/started"), told("unhealthy", "true"), told("stop-after", "1h"), func(pod *corev1.Pod) {
			pod.Spec.Containers[0].StartupProbe.TerminationGracePeriodSeconds = new(int64(2))
		}))
		pass(6 * time.Second)
		assert.Equal(t, []string{"Killing: Container web failed startup probe, will be restarted"}, c.events.of("Killing"))
		require.NotNil(t, c.get("web-1").Status.ContainerStatuses[0].LastTerminationState.Terminated)
		assert.Equal(t, int32(137), c.get("web-1").Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
	})
}

func TestAProbeWaitsForItsInitialDelayAndThenItsPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var asked []time.Time
		dial := c.config.Dial
		c.config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			assert.Equal(t, "127.1.2.1:80", address)
			asked = append(asked, time.Now())
			return dial(ctx, network, address)
		}
		c.start()
		began := time.Now()
		c.create(makePod("web-1", probed(readiness, "/"), func(pod *corev1.Pod) {
			probe := pod.Spec.Containers[0].ReadinessProbe
			probe.ProbeHandler = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}
			probe.InitialDelaySeconds, probe.PeriodSeconds, probe.SuccessThreshold = 5, 7, 2
		}))
		pass(8 * time.Second)
		assert.Equal(t, "Running 0/1 running, 0 restarts", c.glance("web-1"), "it takes two successes")
		pass(8 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		pass(5 * time.Second)
		var after []time.Duration
		for _, at := range asked {
			after = append(after, at.Sub(began)-startAfter)
		}
		assert.Equal(t, []time.Duration{5 * time.Second, 12 * time.Second, 19 * time.Second}, after)
	})
}

func TestAProbeHasNoMoreThanItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.config.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, errors.New("late")
		}
		c.start()
		c.create(makePod("web-1", probed(readiness, "/"), func(pod *corev1.Pod) { pod.Spec.Containers[0].ReadinessProbe.TimeoutSeconds = 2 }))
		pass(7 * time.Second)
		assert.Len(t, c.events.of("Unhealthy"), 3, "the next one begins at once when one has taken longer than the period")
		c.stop()
	})
}

func TestAPodWithoutAnAddressIsProbedOnTheHostPort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", probed(readiness, "/"), func(pod *corev1.Pod) {
			pod.Spec.HostNetwork = true
			pod.Spec.Containers[0].Ports[0].HostPort = 80
		}))
		pass(2 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		assert.Equal(t, machine, c.get("web-1").Status.PodIP)
	})
}

func TestAProbeSendsItsHeadersAndNamesTheKubelet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		var got *http.Request
		other, err := c.network.Listen("tcp", "127.9.9.9:81")
		require.NoError(t, err)
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { got = req })}
		t.Cleanup(func() { _ = server.Close() })
		go func() { _ = server.Serve(other) }()
		c.create(makePod("web-1", probed(readiness, "/a?b=c"), func(pod *corev1.Pod) {
			get := pod.Spec.Containers[0].ReadinessProbe.HTTPGet
			get.Host, get.Port = "127.9.9.9", intstr.FromInt32(81)
			get.HTTPHeaders = []corev1.HTTPHeader{{Name: "X-Who", Value: "me"}, {Name: "host", Value: "example.org"}}
		}))
		pass(2 * time.Second)
		require.NotNil(t, got)
		assert.Equal(t, "/a?b=c example.org me kube-probe/v1.36.0",
			strings.Join([]string{got.URL.String(), got.Host, got.Header.Get("X-Who"), got.UserAgent()}, " "))
		c.stop()
	})
}

// byCommand lets the probes of a pod run a command instead.
func byCommand(command ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		c := &pod.Spec.Containers[0]
		for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if probe != nil {
				probe.ProbeHandler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}
			}
		}
	}
}

// K118.
func TestAProbeByACommandFailsWithIt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		kind    func(*corev1.Container, *corev1.Probe)
		command []string
		glance  string
		event   string // of the first failure; empty for none
	}{
		"readiness by one that succeeds":  {readiness, []string{"test", "-f", "/etc/hosts"}, "Running 1/1 running, 0 restarts", ""},
		"liveness by one that succeeds":   {liveness, []string{"true"}, "Running 1/1 running, 0 restarts", ""},
		"startup by one that succeeds":    {startup, []string{"echo", "a"}, "Running 1/1 running, 0 restarts", ""},
		"readiness by one that fails":     {readiness, []string{"cat", "/nope"}, "Running 0/1 running, 0 restarts", "Readiness probe failed: cat: /nope: no such file or directory\n"},
		"liveness by one that fails":      {liveness, []string{"cat", "/etc/hostname", "/nope"}, "Running 1/1 running, 1 restarts", "Liveness probe failed: web-1\ncat: /nope: no such file or directory\n"},
		"startup by one that fails":       {startup, []string{"false"}, "Running 0/1 running, 1 restarts", "Startup probe failed: "},
		"readiness by one that is absent": {readiness, []string{"sh"}, "Running 1/1 running, 0 restarts", ""},
		"liveness by one that is late":    {liveness, []string{"sleep", "2"}, "Running 1/1 running, 1 restarts", `Liveness probe failed: command timed out: "sleep 2"`},
		"readiness by one in time":        {readiness, []string{"sleep", "0.9"}, "Running 1/1 running, 0 restarts", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startKubelet(t)
				c.create(makePod("web-1", probed(row.kind, "/"), byCommand(row.command...)))
				pass(4 * time.Second)
				assert.Equal(t, row.glance, c.glance("web-1"))
				events := c.events.of("Unhealthy")
				if row.event == "" {
					assert.Empty(t, events)
				} else {
					require.NotEmpty(t, events)
					assert.Equal(t, "Unhealthy: "+row.event, events[0])
				}
				c.stop()
			})
		})
	}
}

func TestAProbeByACommandFailsAlsoIfItIsToldTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", probed(readiness, "/"), byCommand("true"), told("unready", "true")))
		pass(2 * time.Second)
		assert.Equal(t, "Running 0/1 running, 0 restarts", c.glance("web-1"))
		assert.Contains(t, c.events.take(), "Unhealthy: Readiness probe failed: hollow: told to be unready")
	})
}
