package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/master"
	"kube2014/pkg/options"
	"kube2014/pkg/util/loopback/loopbacktest"
)

// bubbleCluster is what make cluster runs, in a synctest bubble: all in one process, with a clock
// and a network of its own.
type bubbleCluster struct {
	t       *testing.T
	network *loopbacktest.Network
	master  *master.Master
	client  *clientv1.Client
	slow    func() // is called before and after each request, unless it is nil
	ended   chan error
	end     context.CancelFunc
}

// startCluster starts a server with parts around it.
func startCluster(t *testing.T, flags string) *bubbleCluster {
	c := &bubbleCluster{t: t, network: &loopbacktest.Network{}, ended: make(chan error, 1)}
	o, err := options.Parse(strings.Fields(flags))
	require.NoError(t, err)
	c.master, err = createMaster(c.host(), o, io.Discard)
	require.NoError(t, err)
	c.master.Loops.RegisterMachines()
	ctx, end := context.WithCancel(t.Context())
	c.end = end
	go func() { c.ended <- c.master.Server.PrepareRun().Run(ctx) }()
	c.client, _ = c.connect("test")
	synctest.Wait() // it listens
	t.Cleanup(func() {
		end()
		<-c.ended
		c.client.HTTP.CloseIdleConnections()
		time.Sleep(2 * master.SyncPeriod) // the loops of the server look at their context then
	})
	return c
}

// host returns the configuration of what is on the bubble's network.
func (c *bubbleCluster) host() *master.Config {
	host := *config
	host.Network = master.Network{Listen: c.network.Listen, Dial: c.network.DialContext}
	return &host
}

// connect returns a client of the server's port.
func (c *bubbleCluster) connect(userAgent string) (*clientv1.Client, error) {
	client := clientv1.Over(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return c.network.DialContext(ctx, network, "127.0.0.1:8080")
	}, userAgent)
	if c.slow != nil {
		client.HTTP.Transport = slowTransport{client.HTTP.Transport, c.slow}
	}
	return client, nil
}

// slowTransport takes time on the way to the server, and back. Whoever gives up on the way back
// does not know whether the server has done what it was asked.
type slowTransport struct {
	http.RoundTripper
	pause func()
}

func (s slowTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	s.pause()
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	resp, err := s.RoundTripper.RoundTrip(req)
	s.pause()
	if lost := req.Context().Err(); lost != nil && err == nil {
		_ = resp.Body.Close()
		return nil, lost
	}
	return resp, err
}

// run runs parts elsewhere, as clients of the server's port, until stop is called.
func (c *bubbleCluster) run(flags string) (stop func()) {
	o, err := options.Parse(append(strings.Fields(flags), "-master", "http://127.0.0.1:8080"))
	require.NoError(c.t, err)
	p, err := c.host().NewParts(o, c.connect, nil)
	require.NoError(c.t, err)
	go p.Run(c.t.Context())
	stop = sync.OnceFunc(func() {
		require.NoError(c.t, p.Stop())
		require.Empty(c.t, p.Failure())
	})
	c.t.Cleanup(stop)
	return stop
}

// stop stops the server and the parts around it, as a signal does.
func (c *bubbleCluster) stop() {
	c.end()
	err := <-c.ended
	c.ended <- err
	require.NoError(c.t, err)
}

// eventually waits, by the bubble's clock, for what the parts bring about.
func (c *bubbleCluster) eventually(within time.Duration, what string, condition func() bool) {
	c.t.Helper()
	for end := time.Now().Add(within); !condition(); time.Sleep(100 * time.Millisecond) {
		require.True(c.t, time.Now().Before(end), what)
	}
}

// pods returns the pods by their names.
func (c *bubbleCluster) pods() map[string]*corev1.Pod {
	list, err := c.client.Pods().List(c.t.Context(), metav1.ListOptions{})
	require.NoError(c.t, err)
	pods := map[string]*corev1.Pod{}
	for _, pod := range list.Items {
		pods[pod.Name] = pod
	}
	return pods
}

// ready returns how many pods are ready on nodes that fit, and all if no name is given.
func (c *bubbleCluster) ready(nodes ...string) (n int) {
	for _, pod := range c.pods() {
		if isReady(pod) && (len(nodes) == 0 || slices.Contains(nodes, pod.Spec.NodeName)) {
			n++
		}
	}
	return n
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

func nginx() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}}
}

// createController makes a replication controller of a number of pods.
func (c *bubbleCluster) createController(name string, replicas int32) {
	labels := map[string]string{"app": name}
	_, err := c.client.ReplicationControllers().Create(c.t.Context(), &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: labels,
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: nginx()}}})
	require.NoError(c.t, err)
}

func TestAPodRunsInAClusterOfOneProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, "-run all -machines 127.0.0.1,127.0.0.2,127.0.0.3")
		synctest.Wait()
		_, err := c.client.Pods().Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: nginx()})
		require.NoError(t, err)
		c.eventually(2*time.Second, "it is ready", func() bool { return c.ready() == 1 })
		c.stop()
		assert.Empty(t, c.master.Parts.Failure())
	})
}

// All parts are processes of their own here. The clock is the bubble's.
// New nodes are tainted. The scheduler also works where no node controller removes the taint.
func TestAPodIsPlacedWithoutANodeController(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, "-run apiserver -scheduler none")
		c.run("-run scheduler,kubelet -machines 127.0.0.1")
		made := podNamed("web")
		_, err := c.client.Pods().Create(t.Context(), &made)
		require.NoError(t, err)
		c.eventually(time.Minute, "it runs", func() bool {
			pod, err := c.client.Pods().Get(t.Context(), "web")
			return err == nil && pod.Status.Phase == corev1.PodRunning
		})
		node, err := c.client.Nodes().Get(t.Context(), "127.0.0.1")
		require.NoError(t, err)
		assert.Equal(t, []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}}, node.Spec.Taints)
	})
}

func TestWhenAKubeletStopsThePodsOfItsControllersComeElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, "-run apiserver -scheduler none")
		c.run("-run controller_manager")
		c.run("-run scheduler")
		kubelets := map[string]func(){}
		for _, machine := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"} {
			kubelets[machine] = c.run("-run kubelet -machines " + machine)
		}
		c.createController("web", 6)
		c.eventually(time.Minute, "all are ready", func() bool { return c.ready() == 6 })
		assert.Equal(t, 2, c.ready("127.0.0.2"), "they are spread")
		_, err := c.client.Pods().Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bare"},
			Spec: corev1.PodSpec{NodeName: "127.0.0.2", Containers: nginx().Containers}})
		require.NoError(t, err)
		c.eventually(time.Minute, "the bare pod is ready", func() bool { return c.ready("127.0.0.2") == 3 })

		kubelets["127.0.0.2"]()
		time.Sleep(29 * time.Second) // 40 after the last heartbeat at the earliest, which may be 10 old
		assert.Equal(t, 3, c.ready("127.0.0.2"), "nobody is hasty")
		c.eventually(time.Minute, "six are ready elsewhere", func() bool { return c.ready("127.0.0.1", "127.0.0.3") == 6 })
		bare := c.pods()["bare"]
		require.NotNil(t, bare, "the bare pod stays")
		assert.Equal(t, corev1.PodUnknown, bare.Status.Phase)
		assert.Len(t, c.pods(), 7)
		node, err := c.client.Nodes().Get(t.Context(), "127.0.0.2")
		require.NoError(t, err)
		for _, condition := range node.Status.Conditions {
			assert.Equal(t, corev1.ConditionUnknown, condition.Status, condition.Type)
		}

		c.run("-run kubelet -machines 127.0.0.2")
		c.eventually(time.Minute, "the bare pod runs again", func() bool { return c.ready("127.0.0.2") == 1 })
	})
}

// For ten minutes nobody hears of the kubelets: that is no reason to delete a pod.
func TestWhenTheServerIsAwayNoPodIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, "-run apiserver -scheduler none")
		c.run("-run controller_manager,scheduler,kubelet,proxy -machines 127.0.0.1,127.0.0.2")
		c.createController("web", 4)
		c.eventually(time.Minute, "all are ready", func() bool { return c.ready() == 4 })
		before := c.pods()
		c.network.Cut()
		time.Sleep(10 * time.Minute)
		c.network.Mend()
		time.Sleep(5 * time.Minute)
		assert.Equal(t, 4, c.ready())
		for name, pod := range c.pods() {
			if assert.Contains(t, before, name) {
				assert.Equal(t, before[name].UID, pod.UID)
			}
		}
	})
}
