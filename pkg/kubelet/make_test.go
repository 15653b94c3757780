package kubelet_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/loopback/loopbacktest"

	"kube2014/pkg/kubelet"
	"kube2014/pkg/kubelet/hollow"
	"kube2014/pkg/master/servertest"
)

const machine = "127.0.0.2"

// startAfter is how long containers take to start in tests.
const startAfter = 200 * time.Millisecond

// recorded has the events that a kubelet recorded: Reason: message.
type recorded struct {
	mu     sync.Mutex // guards what follows
	events []string
	starts []time.Time // of the reason Started
}

// Eventf implements record.EventRecorder.
func (r *recorded) Eventf(about clientv1.Object, _, reason, message string, args ...interface{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason == "Started" {
		r.starts = append(r.starts, time.Now())
	}
	r.events = append(r.events, reason+": "+strings.ReplaceAll(fmt.Sprintf(message, args...), string(about.GetUID()), "UID"))
}

// of returns the events of a reason.
func (r *recorded) of(reason string) (events []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range r.events {
		if strings.HasPrefix(event, reason+": ") {
			events = append(events, event)
		}
	}
	return events
}

// pauses returns the times between starts.
func (r *recorded) pauses() (pauses []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 1; i < len(r.starts); i++ {
		pauses = append(pauses, r.starts[i].Sub(r.starts[i-1]))
	}
	return pauses
}

// take returns the events, and forgets them.
func (r *recorded) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// cluster is a server with one machine, in a synctest bubble.
type cluster struct {
	*servertest.Server
	t       *testing.T
	client  *clientv1.Client
	network *loopbacktest.Network
	events  *recorded
	config  kubelet.Config
	kubelet *kubelet.Kubelet // the one that was started last
	ended   chan error
	end     context.CancelFunc
}

func newCluster(t *testing.T) *cluster {
	server := servertest.Start(t)
	c := &cluster{Server: server, t: t, client: server.Client(t, "test"), network: &loopbacktest.Network{}, events: &recorded{}}
	c.config = kubelet.Config{
		Name: machine, Client: server.Client(t, "kubelet"), Recorder: c.events, Version: "v1.36.0", PodCIDR: netip.MustParsePrefix("127.1.2.0/24"),
		Runtime: &hollow.Runtime{Listen: c.network.Listen, StartAfter: startAfter},
		Listen:  c.network.Listen, Dial: c.network.DialContext, Port: 10250,
	}
	return c
}

// startKubelet lets a kubelet run until the test ends or it is stopped.
func startKubelet(t *testing.T) *cluster {
	c := newCluster(t)
	c.start()
	return c
}

func (c *cluster) start() {
	ctx, cancel := context.WithCancel(c.t.Context())
	c.ended, c.end = make(chan error, 1), cancel
	k := kubelet.New(c.config)
	c.kubelet = k
	go func() { c.ended <- k.Run(ctx) }()
	pass(time.Second)
}

// stop stops the kubelet as if its machine was switched off.
func (c *cluster) stop() {
	c.end()
	require.NoError(c.t, <-c.ended)
}

// makePod returns a pod of the machine with one container, changed.
func makePod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{NodeName: machine, Containers: []corev1.Container{{Name: "web", Image: "nginx:1.8"}}},
	}
	for _, change := range change {
		change(pod)
	}
	return pod
}

// told lets the hollow runtime be told something.
func told(name, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[hollow.Prefix+name] = value }
}

func policy(policy corev1.RestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = policy }
}

func (c *cluster) create(pod *corev1.Pod) *corev1.Pod {
	created, err := c.client.Pods().Create(c.t.Context(), pod)
	require.NoError(c.t, err)
	return created
}

func (c *cluster) get(name string) *corev1.Pod {
	pod, err := c.client.Pods().Get(c.t.Context(), name)
	require.NoError(c.t, err)
	return pod
}

func (c *cluster) annotate(name, key, value string) {
	_, err := c.client.Pods().Change(c.t.Context(), name, func(pod *corev1.Pod) error {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, hollow.Prefix+key, value)
		return nil
	})
	require.NoError(c.t, err)
}

// delete deletes a pod, with its own grace period if seconds is less than 0.
func (c *cluster) delete(name string, seconds int64) {
	options := metav1.DeleteOptions{}
	if seconds >= 0 {
		options.GracePeriodSeconds = &seconds
	}
	require.NoError(c.t, c.client.Pods().Delete(c.t.Context(), name, options))
}

// exists reports whether there is a pod of a name.
func (c *cluster) exists(name string) bool {
	_, err := c.client.Pods().Get(c.t.Context(), name)
	return err == nil
}

// glance tells a pod's phase and the state of its first container: Running, 1/1, 0 restarts.
func (c *cluster) glance(name string) string {
	pod := c.get(name)
	ready := 0
	var states []string
	restarts := int32(0)
	for _, container := range pod.Status.ContainerStatuses {
		if container.Ready {
			ready++
		}
		restarts += container.RestartCount
		switch state := container.State; {
		case state.Waiting != nil:
			states = append(states, state.Waiting.Reason)
		case state.Running != nil:
			states = append(states, "running")
		case state.Terminated != nil:
			states = append(states, fmt.Sprintf("%s %d", state.Terminated.Reason, state.Terminated.ExitCode))
		}
	}
	return fmt.Sprintf("%s %d/%d %s, %d restarts", pod.Status.Phase, ready, len(pod.Spec.Containers), strings.Join(states, " + "), restarts)
}

// pass lets time pass, and waits until all is done that is due.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// conditionsOf tells the conditions of a pod: Type=Status Reason.
func conditionsOf(pod *corev1.Pod) (all []string) {
	for _, condition := range pod.Status.Conditions {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s=%s %s", condition.Type, condition.Status, condition.Reason)))
	}
	return all
}

// withPort lets a pod's container listen on port 80.
func withPort(pod *corev1.Pod) {
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}}
}

// ask returns what is answered at an address and a path.
func (c *cluster) ask(address string) string {
	client := &http.Client{Transport: &http.Transport{DialContext: c.network.DialContext, DisableKeepAlives: true}}
	resp, err := client.Get("http://" + address)
	if err != nil {
		return "nobody listens"
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return string(text)
}
