package scheduler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/master/servertest"
)

// bench is a server with nodes, pods and schedulers, in a synctest bubble.
type bench struct {
	*servertest.Server
	t      testing.TB
	client *clientv1.Client

	mu     sync.Mutex // guards what follows
	events []string
	count  map[string]int // requests by method and the last word of the path
}

func newBench(t testing.TB) *bench {
	server := servertest.Start(t)
	return &bench{Server: server, t: t, client: server.Client(t, "test"), count: map[string]int{}}
}

// Eventf implements record.EventRecorder.
func (b *bench) Eventf(about clientv1.Object, eventType, reason, message string, args ...interface{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, fmt.Sprintf("%s %s %s: %s", about.GetName(), eventType, reason, fmt.Sprintf(message, args...)))
}

// takeEvents returns the events so far, sorted, and forgets them.
func (b *bench) takeEvents() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	slices.Sort(events)
	return events
}

// counted lets all requests be counted, and returns how many there were of a kind so far.
func (b *bench) countRequests() func(kind string) int {
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		b.mu.Lock()
		b.count[req.Method+" "+req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]]++
		b.mu.Unlock()
		next.ServeHTTP(w, req)
	})
	return func(kind string) int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.count[kind]
	}
}

// run runs a scheduler until the function that it returns is called.
func (b *bench) run(name string) (stop func()) {
	client := b.Client(b.t, "scheduler")
	objects := informers.New(client, 0)
	s := New(Config{Client: client, Informers: objects, Recorder: b, Name: name})
	return servertest.Run(b.t, func(ctx context.Context) {
		objects.Run(ctx)
		s.Run(ctx)
	})
}

func (b *bench) node(name string, edit ...func(*corev1.Node)) {
	_, err := b.client.Nodes().Create(b.t.Context(), makeNode(name, edit...))
	require.NoError(b.t, err)
}

func (b *bench) changeNode(name string, change func(*corev1.Node)) {
	_, err := b.client.Nodes().Change(b.t.Context(), name, func(node *corev1.Node) error { change(node); return nil })
	require.NoError(b.t, err)
}

func (b *bench) changeNodeStatus(name string, change func(*corev1.Node)) {
	node, err := b.client.Nodes().Get(b.t.Context(), name)
	require.NoError(b.t, err)
	change(node)
	_, err = b.client.Nodes().UpdateStatus(b.t.Context(), node)
	require.NoError(b.t, err)
}

func (b *bench) pod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	made, err := b.client.Pods().Create(b.t.Context(), makePod(name, edit...))
	require.NoError(b.t, err)
	return made
}

func (b *bench) get(name string) *corev1.Pod {
	pod, err := b.client.Pods().Get(b.t.Context(), name)
	require.NoError(b.t, err)
	return pod
}

// list returns all pods.
func (b *bench) list() []*corev1.Pod {
	pods, err := b.client.Pods().List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	return pods.Items
}

// places returns how many pods each node has; "" has those without a node.
func (b *bench) places() map[string]int {
	places := map[string]int{}
	for _, pod := range b.list() {
		places[pod.Spec.NodeName]++
	}
	return places
}

func (b *bench) delete(name string) {
	require.NoError(b.t, b.client.Pods().Delete(b.t.Context(), name, metav1.DeleteOptions{}))
}

func makeNode(name string, edit ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, edit := range edit {
		edit(node)
	}
	return node
}

func makePod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	for _, edit := range edit {
		edit(pod)
	}
	return pod
}

func list(cpu, memory string) corev1.ResourceList {
	list := corev1.ResourceList{}
	if cpu != "" {
		list[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		list[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return list
}

func requesting(cpu, memory string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests = list(cpu, memory) }
}

func withHostPort(port int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: port}}
	}
}

func labelled(value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": value} }
}

func having(cpu, memory string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Status.Allocatable = list(cpu, memory) }
}

func ready(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	}
}

func cordoned(is bool) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Spec.Unschedulable = is }
}

// settle lets a while pass in the bubble.
func settle(while time.Duration) {
	time.Sleep(while)
	synctest.Wait()
}

func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newBench(t)) })
}

func TestAPodIsPlacedAndAnEventSaysWhere(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.node("127.0.0.2")
		b.run("")
		b.pod("web-1")
		settle(time.Second)
		assert.Equal(t, "127.0.0.2", b.get("web-1").Spec.NodeName)
		assert.Equal(t, []string{"web-1 Normal Scheduled: Successfully assigned default/web-1 to 127.0.0.2"}, b.takeEvents())
	})
}

func TestEqualNodesTakeTurns(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run("")
		for n := range 3 {
			b.node(fmt.Sprint("n", n))
		}
		settle(time.Second)
		for n := range 9 {
			b.pod(fmt.Sprint("p", n))
		}
		settle(time.Second)
		assert.Equal(t, map[string]int{"n0": 3, "n1": 3, "n2": 3}, b.places())
	})
}

func TestPodsOfAServiceOrAControllerAreSpread(t *testing.T) {
	meta, web, none := metav1.ObjectMeta{Name: "web"}, map[string]string{"app": "web"}, int32(0)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: web}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	for name, create := range map[string]func(t *testing.T, c *clientv1.Client) error{
		"a service": func(t *testing.T, c *clientv1.Client) error {
			_, err := c.Services().Create(t.Context(), &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: web, Ports: []corev1.ServicePort{{Port: 80}}}})
			return err
		},
		"a replication controller": func(t *testing.T, c *clientv1.Client) error {
			_, err := c.ReplicationControllers().Create(t.Context(), &corev1.ReplicationController{ObjectMeta: meta,
				Spec: corev1.ReplicationControllerSpec{Replicas: &none, Selector: web, Template: &template}})
			return err
		},
		"a replica set": func(t *testing.T, c *clientv1.Client) error {
			_, err := c.ReplicaSets().Create(t.Context(), &appsv1.ReplicaSet{ObjectMeta: meta,
				Spec: appsv1.ReplicaSetSpec{Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: web}, Template: template}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				for n := range 3 {
					b.node(fmt.Sprint("n", n))
				}
				require.NoError(t, create(t, b.client))
				b.pod("p0", labelled("web"), func(pod *corev1.Pod) { pod.Spec.NodeName = "n0" })
				b.pod("p1", labelled("web"), func(pod *corev1.Pod) { pod.Spec.NodeName = "n0" })
				b.run("")
				settle(time.Second)
				for n := range 4 {
					b.pod(fmt.Sprint("q", n), labelled("web"))
				}
				settle(time.Second)
				assert.Equal(t, map[string]int{"n0": 2, "n1": 2, "n2": 2}, b.places())
			})
		})
	}
}

func TestOnlyPodsThatWaitForThisSchedulerArePlaced(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.node("n")
		b.run("mine")
		named := func(name string) func(*corev1.Pod) {
			return func(pod *corev1.Pod) { pod.Spec.SchedulerName = name }
		}
		b.pod("unnamed")
		b.pod("others", named("other"))
		b.pod("gated", named("mine"), func(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "later"}} })
		b.pod("mine", named("mine"))
		settle(time.Minute)
		placed := func() (names []string) {
			for _, pod := range b.list() {
				if pod.Spec.NodeName != "" {
					names = append(names, pod.Name)
				}
			}
			return names
		}
		assert.Equal(t, []string{"mine"}, placed())

		_, err := b.client.Pods().Change(t.Context(), "gated", func(pod *corev1.Pod) error { pod.Spec.SchedulingGates = nil; return nil })
		require.NoError(t, err)
		settle(time.Second)
		assert.Equal(t, []string{"gated", "mine"}, placed())
	})
}

func TestAPodThatFitsNowhereIsToldWhyAndPlacedWhenANodeComes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run("")
		b.pod("web-1", requesting("2", ""))
		settle(time.Second / 2)
		assert.Equal(t, []string{"web-1 Warning FailedScheduling: no nodes available to schedule pods"}, b.takeEvents())

		b.node("small", having("1", ""))
		b.node("large", having("4", ""), cordoned(true))
		settle(time.Minute)
		why := "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
		assert.Contains(t, b.takeEvents(), "web-1 Warning FailedScheduling: "+why)
		conditions := b.get("web-1").Status.Conditions
		require.Len(t, conditions, 1)
		assert.Equal(t, corev1.PodScheduled, conditions[0].Type)
		assert.Equal(t, corev1.ConditionFalse, conditions[0].Status)
		assert.Equal(t, "Unschedulable", conditions[0].Reason)
		assert.Equal(t, why, conditions[0].Message)
		assert.Equal(t, int64(1), conditions[0].ObservedGeneration)

		b.changeNode("large", cordoned(false))
		settle(time.Second)
		pod := b.get("web-1")
		assert.Equal(t, "large", pod.Spec.NodeName)
		require.Len(t, pod.Status.Conditions, 1)
		assert.Equal(t, corev1.ConditionTrue, pod.Status.Conditions[0].Status)
		assert.Equal(t, []string{"web-1 Normal Scheduled: Successfully assigned default/web-1 to large"}, b.takeEvents())
	})
}

func TestAPodIsPlacedWhenAnotherOneMakesRoom(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(b *bench)
	}{
		{"it is deleted", func(b *bench) { b.delete("first") }},
		{"it ends", func(b *bench) {
			pod := b.get("first")
			pod.Status.Phase = corev1.PodSucceeded
			_, err := b.client.Pods().UpdateStatus(b.t.Context(), pod)
			require.NoError(b.t, err)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.node("n", having("1", ""))
				b.run("")
				b.pod("first", requesting("600m", ""))
				settle(time.Second)
				b.pod("second", requesting("600m", ""))
				settle(10 * time.Minute)
				require.Empty(t, b.get("second").Spec.NodeName)
				test.make(b)
				settle(time.Second)
				assert.Equal(t, "n", b.get("second").Spec.NodeName)
			})
		})
	}
}

func TestAHostPortIsGivenOncePerNode(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		requests := b.countRequests()
		for n := range 40 {
			b.node(fmt.Sprint("n", n))
		}
		b.run("")
		for n := range 100 {
			b.pod(fmt.Sprint("p", n), withHostPort(8080))
		}
		settle(time.Minute)
		places := b.places()
		assert.Equal(t, 60, places[""])
		delete(places, "")
		assert.Len(t, places, 40)
		for node, pods := range places {
			assert.Equal(t, 1, pods, node)
		}
		assert.Equal(t, 40, requests("POST binding"), "no binding is refused")
	})
}
