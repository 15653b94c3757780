package kubelet_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/hollow"
)

// tell lets the node say that its kubelet is to be stopped.
func (c *cluster) tell(until string) {
	_, err := c.client.Nodes().Change(c.t.Context(), machine, func(node *corev1.Node) error {
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, hollow.Prefix+"stop-kubelet", until)
		return nil
	})
	require.NoError(c.t, err)
}

// silence returns how long ago the kubelet has last said that its node is alive.
func (c *cluster) silence() time.Duration {
	node, err := c.client.Nodes().Get(c.t.Context(), machine)
	require.NoError(c.t, err)
	return time.Since(node.Status.Conditions[3].LastHeartbeatTime.Time)
}

func in(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339Nano) }

func TestAKubeletThatIsStoppedDoesNothingUntilItGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		var writes atomic.Int32
		var goes atomic.Bool
		c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method != http.MethodGet && req.UserAgent() == c.config.Client.UserAgent {
				writes.Add(1)
				if strings.HasSuffix(req.URL.Path, "/held/status") && !goes.Load() { // it is sent again 5 to 10 seconds later
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
			}
			next.ServeHTTP(w, req)
		})
		c.create(makePod("web-1", withPort, probed(liveness, "/"), probed(readiness, "/")))
		c.create(makePod("crash", told("exit-after", "30s"), told("exit-code", "1")))
		c.create(makePod("leaving"))
		c.create(makePod("taken", told("start-after", "20s"), func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 10250}}
		}))
		pass(5 * time.Second)
		client := &http.Client{Transport: &http.Transport{DialContext: c.network.DialContext}}
		followed, err := client.Get("http://" + machine + ":10250/containerLogs/default/web-1/web?follow=true")
		require.NoError(t, err)
		defer followed.Body.Close()
		c.tell(in(time.Minute))
		pass(3 * time.Second)
		c.annotate("web-1", "unhealthy", "true") // a probe a second fails
		c.create(makePod("held"))
		pass(2 * time.Second)
		goes.Store(true)
		require.Positive(t, writes.Swap(0))
		c.events.take()

		c.create(makePod("late"))
		c.delete("leaving", -1)
		pass(30 * time.Second)
		assert.Equal(t, "hollow: told to be unhealthy\n", c.ask("127.1.2.1:80"), "the containers go on")
		pass(15 * time.Second)
		assert.Zero(t, writes.Load())
		assert.Empty(t, c.events.take())
		assert.Equal(t, "Pending 0/1 , 0 restarts", c.glance("late"))
		assert.True(t, c.exists("leaving"))
		assert.Greater(t, c.silence(), 50*time.Second)
		assert.Equal(t, "nobody listens", c.ask(machine+":10250/healthz"))
		_, err = io.ReadAll(followed.Body)
		assert.Error(t, err, "it was cut when more was logged")

		c.annotate("web-1", "unhealthy", "false")
		pass(15 * time.Second)
		assert.Less(t, c.silence(), 10*time.Second)
		assert.Equal(t, "ok", c.ask(machine+":10250/healthz"))
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		assert.Equal(t, "Running 1/1 running, 1 restarts", c.glance("crash"))
		for _, name := range []string{"late", "held"} {
			assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance(name))
		}
		assert.False(t, c.exists("leaving"))
		pass(5 * time.Minute)
		assert.Less(t, c.silence(), 15*time.Second, "it is told once")
	})
}

// blind hides what its runtime can do besides.
type blind struct{ cri.Runtime }

func TestAKubeletIsStoppedOnlyAsLongAsItIsTold(t *testing.T) {
	t.Parallel()
	const beat = 10 * time.Second
	for name, row := range map[string]struct {
		until func() string
		alive []time.Duration // since then
		dead  []time.Duration
	}{
		"for a minute":               {func() string { return in(time.Minute) }, []time.Duration{time.Minute + 2*beat}, []time.Duration{beat, time.Minute - time.Second}},
		"for 10 minutes at most":     {func() string { return in(30 * time.Minute) }, []time.Duration{10*time.Minute + 2*beat, 25 * time.Minute}, []time.Duration{beat, 10 * time.Minute}},
		"until a time that has been": {func() string { return in(-time.Second) }, []time.Duration{beat, time.Minute}, nil},
		"not by what is not a time":  {func() string { return "soon" }, []time.Duration{beat, time.Minute}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startKubelet(t)
				began := time.Now()
				c.tell(row.until())
				isAlive := func() bool { return c.ask(machine+":10250/healthz") == "ok" }
				for _, at := range row.dead {
					pass(at - time.Since(began))
					assert.False(t, isAlive(), at)
				}
				for _, at := range row.alive {
					pass(at - time.Since(began))
					assert.True(t, isAlive(), at)
					assert.LessOrEqual(t, c.silence(), beat+time.Second, at)
				}
			})
		})
	}
}

func TestAKubeletIsStoppedAgainByAnotherTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.tell(in(time.Minute))
		pass(30 * time.Second)
		c.tell(in(90 * time.Second)) // it sees that when it goes on
		pass(time.Minute)
		assert.Greater(t, c.silence(), 80*time.Second)
		pass(40 * time.Second)
		assert.Less(t, c.silence(), 15*time.Second)

		c.tell(in(5 * time.Minute))
		pass(30 * time.Second)
		c.tell(in(time.Minute)) // that would be sooner, but nothing reaches it
		node, err := c.client.Nodes().Get(t.Context(), machine)
		require.NoError(t, err)
		c.kubelet.See(node)
		pass(4 * time.Minute)
		assert.Greater(t, c.silence(), 4*time.Minute)
		assert.Equal(t, "nobody listens", c.ask(machine+":10250/healthz"))
		pass(time.Minute)
		assert.Less(t, c.silence(), 30*time.Second)
	})
}

func TestAKubeletOfAnotherRuntimeIsNotStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.config.Runtime = blind{c.config.Runtime}
		c.start()
		c.tell(in(5 * time.Minute))
		pass(time.Minute)
		assert.Less(t, c.silence(), 15*time.Second)
	})
}

func TestAKubeletThatIsStoppedEndsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", probed(readiness, "/")))
		c.tell(in(5 * time.Minute))
		pass(30 * time.Second)
		c.create(makePod("web-2"))
		pass(time.Second)
		began := time.Now()
		c.stop()
		assert.Equal(t, began, time.Now())
	})
}
