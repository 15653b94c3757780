package kubelet_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/kubelet"
	"kube2014/pkg/master/servertest"
)

// K77.
func TestAKubeletThatStartsAgainStartsItsPodsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", withPort))
		c.create(makePod("done", policy(corev1.RestartPolicyNever), told("exit-after", "1s")))
		c.create(makePod("once", policy(corev1.RestartPolicyNever)))
		c.create(makePod("leaving", told("stop-after", "1h")))
		c.create(makePod("half", policy(corev1.RestartPolicyOnFailure), told("exit-after.web", "1s"), func(pod *corev1.Pod) {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "other", Image: "i"})
		}))
		pass(5 * time.Second)
		c.delete("leaving", -1)
		pass(time.Second)
		c.stop()
		assert.Equal(t, "nobody listens", c.ask("127.1.2.1:80"))
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"), "a machine that is switched off tells nobody")
		assert.True(t, c.exists("leaving"))

		c.start()
		assert.Equal(t, "Running 1/1 running, 1 restarts", c.glance("web-1"))
		last := c.get("web-1").Status.ContainerStatuses[0].LastTerminationState.Terminated
		assert.Equal(t, "ContainerStatusUnknown", last.Reason)
		assert.Equal(t, int32(137), last.ExitCode)
		assert.Equal(t, "Succeeded 0/1 Completed 0, 0 restarts", c.glance("done"), "it has ended, and stays so")
		assert.Equal(t, "Failed 0/1 ContainerStatusUnknown 137, 0 restarts", c.glance("once"), "it is not to run twice")
		assert.False(t, c.exists("leaving"))
		assert.Equal(t, "Running 1/2 Completed 0 + running, 1 restarts", c.glance("half"))
	})
}

func TestInitContainersThatWereDoneDoNotRunAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", func(pod *corev1.Pod) { pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "i"}} }))
		pass(5 * time.Second)
		c.stop()
		c.events.take()
		c.start()
		pass(time.Second)
		assert.Equal(t, "Running 1/1 running, 1 restarts", c.glance("web-1"))
		assert.Equal(t, []string{"Started: Started container web"}, c.events.of("Started"))
		assert.Zero(t, c.get("web-1").Status.InitContainerStatuses[0].RestartCount)
	})
}

func TestACrashingContainerGoesOnWithItsCountAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("crash", told("exit-code", "1")))
		pass(5 * time.Second)
		assert.Equal(t, "Running 0/1 CrashLoopBackOff, 1 restarts", c.glance("crash"))
		c.stop()
		c.start()
		assert.Equal(t, "Running 1/1 running, 2 restarts", c.glance("crash"))
	})
}

func TestWhatHappensWhileTheServerIsAwayIsToldAfterwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("crash", told("exit-after", "10s"), told("exit-code", "1")))
		c.create(makePod("job", policy(corev1.RestartPolicyNever), told("exit-after", "30s")))
		c.create(makePod("gone", withPort))
		pass(5 * time.Second)
		c.Stop()
		pass(time.Minute)
		c.Restart()
		c.delete("gone", 0)
		pass(30 * time.Second)
		assert.Contains(t, c.glance("crash"), ", 3 restarts")
		assert.Equal(t, "Succeeded 0/1 Completed 0, 0 restarts", c.glance("job"))
		assert.Empty(t, c.events.of("Killing")[1:], "what went on did so")
		node, err := c.client.Nodes().Get(t.Context(), machine)
		require.NoError(t, err)
		assert.Less(t, time.Since(node.Status.Conditions[3].LastHeartbeatTime.Time), 15*time.Second)
	})
}

func TestAnswersThatAreLostAreAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		var lost atomic.Int32
		// Each write to a pod and to the node is made, and every first answer is lost.
		c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodGet || req.UserAgent() != c.config.Client.UserAgent || lost.Add(1)%2 == 0 {
				next.ServeHTTP(w, req)
				return
			}
			next.ServeHTTP(httptest.NewRecorder(), req)
			panic(http.ErrAbortHandler)
		})
		c.create(makePod("web-1"))
		pass(30 * time.Second)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		c.delete("web-1", -1)
		pass(30 * time.Second)
		assert.False(t, c.exists("web-1"))
		assert.Greater(t, lost.Load(), int32(3))
		assert.Len(t, c.events.of("Started"), 1)
	})
}

func TestWhatOthersWriteToAStatusStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		// Between what the kubelet reads and what it writes, somebody else writes.
		var others atomic.Int32
		c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/web-1/status") && req.UserAgent() == c.config.Client.UserAgent && others.Add(1) <= 4 {
				_, err := c.client.Pods().Patch(t.Context(), "web-1", types.StrategicMergePatchType,
					[]byte(`{"status":{"conditions":[{"type":"example.org/Gate","status":"True","message":"`+string(rune('a'+others.Load()))+`"}]}}`), "status")
				assert.NoError(t, err)
			}
			next.ServeHTTP(w, req)
		})
		c.create(makePod("web-1", func(pod *corev1.Pod) {
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.org/Gate"}}
		}))
		pass(10 * time.Second)
		assert.Greater(t, others.Load(), int32(4))
		assert.Contains(t, conditionsOf(c.get("web-1")), "example.org/Gate=True")
		assert.Contains(t, conditionsOf(c.get("web-1")), "Ready=True")
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
	})
}

func TestAPodIsNotReadyUntilItsGatesAreOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", func(pod *corev1.Pod) {
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.org/Gate"}}
		}))
		pass(time.Second)
		assert.Contains(t, conditionsOf(c.get("web-1")), "Ready=False ReadinessGatesNotReady")
		assert.Contains(t, conditionsOf(c.get("web-1")), "ContainersReady=True")
	})
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		var writes atomic.Int32
		c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method != http.MethodGet && strings.Contains(req.URL.Path, "/pods/") {
				writes.Add(1)
			}
			next.ServeHTTP(w, req)
		})
		c.create(makePod("web-1", probed(readiness, "/")))
		pass(5 * time.Second)
		assert.LessOrEqual(t, writes.Load(), int32(4))
		before := c.get("web-1").ResourceVersion
		pass(10 * time.Minute)
		assert.Equal(t, before, c.get("web-1").ResourceVersion)
	})
}

func TestAPortThatIsTakenIsToldByRun(t *testing.T) {
	t.Parallel()
	k := kubelet.New(kubelet.Config{Name: "m1", Client: clientv1.New("http://nowhere"), Port: 10250, Listen: func(string, string) (net.Listener, error) {
		return nil, errors.New("address already in use")
	}})
	err := k.Run(t.Context())
	var taken *kubelet.ListenError
	require.ErrorAs(t, err, &taken)
	assert.Equal(t, "127.0.0.1:10250", taken.Address)
	assert.Equal(t, "the kubelet cannot listen on 127.0.0.1:10250: address already in use", err.Error())
}

// K83: who names the node has asked nobody whether the pod fits there.
func TestAPodThatDoesNotFitRunsIfItNamesTheNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		c.create(makePod("huge", func(pod *corev1.Pod) {
			pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
		}))
		pass(time.Second)
		assert.Equal(t, corev1.PodRunning, c.get("huge").Status.Phase)

		more := `{"spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "2000"}}}]}}`
		_, err := c.client.Pods().Patch(t.Context(), "huge", types.StrategicMergePatchType, []byte(more), "resize")
		require.NoError(t, err)
		pass(time.Second)
		assert.Equal(t, "2k", c.get("huge").Status.ContainerStatuses[0].AllocatedResources.Cpu().String())
	})
}

func TestAPodForWhichNoAddressIsLeftIsReachedOnTheMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.config.PodCIDR = netip.MustParsePrefix("127.1.2.0/30") // two for pods
		c.start()
		for _, name := range []string{"a", "b", "c"} {
			c.create(makePod(name, withPort))
			pass(time.Second)
		}
		c.create(makePod("d", withPort, func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports[0].HostPort = 8080 }))
		pass(time.Second)
		assert.Equal(t, "127.1.2.1", c.get("a").Status.PodIP)
		assert.Equal(t, "127.1.2.2", c.get("b").Status.PodIP)
		assert.Equal(t, machine, c.get("c").Status.PodIP)
		assert.Len(t, c.events.of("NoPodAddress"), 2, "of c and d")
		assert.Equal(t, "NoPodAddress: All addresses of 127.1.2.0/30 are taken: the pod has that of its machine", c.events.of("NoPodAddress")[0])
		assert.Equal(t, "d on 127.0.0.2 (web)\n", c.ask(machine+":8080"))
		assert.Equal(t, "nobody listens", c.ask(machine+":80"))
		c.delete("a", 0)
		pass(time.Second)
		c.create(makePod("e", withPort))
		pass(time.Second)
		assert.Equal(t, "127.1.2.1", c.get("e").Status.PodIP)
	})
}

func TestAServerThatDoesNotKeepAllOfAStatusIsNotToldAgainAndAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		var writes atomic.Int32
		c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/pods/") {
				writes.Add(1)
				servertest.Edit(t, req, func(pod *corev1.Pod) { pod.Status.HostIPs = nil })
			}
			next.ServeHTTP(w, req)
		})
		c.create(makePod("web-1"))
		pass(time.Minute)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		assert.Less(t, writes.Load(), int32(10))
	})
}
