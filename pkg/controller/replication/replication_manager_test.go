package replication_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
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

	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/servertest"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller/replication"
)

// replicationBench is a server with a replication manager, and what that says.
type replicationBench struct {
	*servertest.Server
	t      testing.TB
	client *clientv1.Client
	// beginning is the version that the server begins with.
	beginning string

	mu     sync.Mutex // guards what follows
	events []string
}

// Eventf implements record.EventRecorder.
func (b *replicationBench) Eventf(about clientv1.Object, eventType, reason, message string, args ...interface{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, fmt.Sprintf("%s %s %s: %s", about.GetName(), eventType, reason, fmt.Sprintf(message, args...)))
}

// takeEvents returns the events so far, and forgets them.
func (b *replicationBench) takeEvents() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

func withReplicationBench(t *testing.T, test func(t *testing.T, b *replicationBench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		b := &replicationBench{Server: server, t: t, client: server.Client(t, "test")}
		list, err := b.client.Pods().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		b.beginning = list.ResourceVersion
		test(t, b)
	})
}

// run runs a new manager, with informers of its own. What it returns ends them, and waits for that.
func (b *replicationBench) run() (stop func()) { return b.runAs(replication.NewReplicationManager) }

func (b *replicationBench) runAs(newManager func(replication.Config) *replication.ReplicationManager) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	client := b.Server.Client(b.t, "replication_manager")
	shared := informers.New(client, 0)
	manager := newManager(replication.Config{Client: client, Informers: shared, Recorder: b})
	shared.Run(ctx)
	ended := make(chan struct{})
	go func() { manager.Run(ctx, 2); close(ended) }()
	return func() { cancel(); <-ended }
}

// settle lets time pass.
func (b *replicationBench) settle(while time.Duration) {
	time.Sleep(while)
	synctest.Wait()
}

func replicationController(name string, replicas int32) *corev1.ReplicationController {
	labels := map[string]string{"app": name}
	return &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: labels, Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name, "tier": "front"}, Annotations: map[string]string{"note": "kept"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}},
	}
}

func (b *replicationBench) create(name string, replicas int32) *corev1.ReplicationController {
	b.t.Helper()
	rc, err := b.client.ReplicationControllers().Create(b.t.Context(), replicationController(name, replicas))
	require.NoError(b.t, err)
	return rc
}

func (b *replicationBench) get(name string) *corev1.ReplicationController {
	b.t.Helper()
	rc, err := b.client.ReplicationControllers().Get(b.t.Context(), name)
	require.NoError(b.t, err)
	return rc
}

func (b *replicationBench) scale(name string, replicas int32) {
	b.t.Helper()
	_, err := b.client.ReplicationControllers().Change(b.t.Context(), name, func(rc *corev1.ReplicationController) error {
		rc.Spec.Replicas = &replicas
		return nil
	})
	require.NoError(b.t, err)
}

func replicationPod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

func (b *replicationBench) createPod(name string, labels map[string]string) {
	b.t.Helper()
	_, err := b.client.Pods().Create(b.t.Context(), replicationPod(name, labels))
	require.NoError(b.t, err)
}

func (b *replicationBench) pod(name string) *corev1.Pod {
	b.t.Helper()
	pod, err := b.client.Pods().Get(b.t.Context(), name)
	require.NoError(b.t, err)
	return pod
}

func (b *replicationBench) deletePod(name string) {
	b.t.Helper()
	require.NoError(b.t, b.client.Pods().Delete(b.t.Context(), name, metav1.DeleteOptions{}))
}

func (b *replicationBench) relabel(name string, labels map[string]string) {
	b.t.Helper()
	_, err := b.client.Pods().Change(b.t.Context(), name, func(pod *corev1.Pod) error {
		pod.Labels = labels
		return nil
	})
	require.NoError(b.t, err)
}

// setStatus changes the status of a pod.
func (b *replicationBench) setStatus(name string, set func(status *corev1.PodStatus)) {
	b.t.Helper()
	pod := b.pod(name)
	set(&pod.Status)
	_, err := b.client.Pods().UpdateStatus(b.t.Context(), pod)
	require.NoError(b.t, err)
}

func ready(status *corev1.PodStatus) {
	status.Phase = corev1.PodRunning
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
}

func (b *replicationBench) pods() []*corev1.Pod {
	b.t.Helper()
	list, err := b.client.Pods().List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	return list.Items
}

// names returns the names of all pods, sorted.
func (b *replicationBench) names() (names []string) {
	b.t.Helper()
	for _, pod := range b.pods() {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// interceptPods lets a function see each request of the manager that changes pods, counted from 1.
func (b *replicationBench) interceptPods(between func(number int, w http.ResponseWriter, req *http.Request, next http.Handler)) {
	var mu sync.Mutex
	count := 0
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.Method == http.MethodGet || req.UserAgent() == "test" || !strings.Contains(req.URL.Path, "/pods") {
			next.ServeHTTP(w, req)
			return
		}
		mu.Lock()
		count++
		number := count
		mu.Unlock()
		between(number, w, req, next)
	})
}

// blindTo lets the manager's watches of a kind say nothing, after the first list.
func (b *replicationBench) blindTo(plural string) {
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if isReplicationWatch(req) && req.URL.Path == "/api/v1/"+plural {
			w.(http.Flusher).Flush()
			<-req.Context().Done()
			return
		}
		next.ServeHTTP(w, req)
	})
}

// isReplicationWatch reports whether a request is a watch of the manager's.
func isReplicationWatch(req *http.Request) bool {
	return req.UserAgent() != "test" && req.URL.Query().Get("watch") != ""
}

// heldWriter waits before it writes.
type heldWriter struct {
	http.ResponseWriter
	wait func()
}

func (w heldWriter) Write(data []byte) (int, error) {
	w.wait()
	return w.ResponseWriter.Write(data)
}

// Unwrap is for an http.ResponseController.
func (w heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w heldWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// loseReplicationAnswer lets the server do what is asked, and cuts the connection then.
func loseReplicationAnswer(req *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), req)
	panic(http.ErrAbortHandler)
}

func refuseRequest(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
}

func TestAReplicationControllerGetsItsPodsByCountedNames(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		rc := b.create("web", 3)
		b.settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.names())
		assert.Equal(t, []string{"web Normal SuccessfulCreate: Created pod: web-1", "web Normal SuccessfulCreate: Created pod: web-2",
			"web Normal SuccessfulCreate: Created pod: web-3"}, b.takeEvents())
		pod := b.pods()[0]
		assert.Equal(t, map[string]string{"app": "web", "tier": "front"}, pod.Labels)
		assert.Equal(t, map[string]string{"note": "kept"}, pod.Annotations)
		assert.Equal(t, "i", pod.Spec.Containers[0].Image)
		yes := true
		assert.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "ReplicationController", Name: "web", UID: rc.UID,
			Controller: &yes, BlockOwnerDeletion: &yes}}, pod.OwnerReferences)
	})
}

func TestAReplicationControllerIsScaledUpAndDown(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.settle(time.Second)
		b.scale("web", 5)
		b.settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, b.names())
		b.setStatus("web-4", ready)
		b.settle(time.Second)
		b.takeEvents()
		b.scale("web", 1)
		b.settle(time.Second)
		assert.Equal(t, []string{"web-4"}, b.names(), "what is ready stays")
		assert.ElementsMatch(t, []string{"web Normal SuccessfulDelete: Deleted pod: web-1", "web Normal SuccessfulDelete: Deleted pod: web-2",
			"web Normal SuccessfulDelete: Deleted pod: web-3", "web Normal SuccessfulDelete: Deleted pod: web-5"}, b.takeEvents())
		b.scale("web", 2)
		b.settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-4"}, b.names())
		b.scale("web", 0)
		b.settle(time.Second)
		assert.Empty(t, b.names())
	})
}

func TestAPodThatIsDeletedOrHasEndedIsReplaced(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 3)
		b.settle(time.Second)
		b.deletePod("web-2")
		b.settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.names())
		b.setStatus("web-1", func(status *corev1.PodStatus) { status.Phase = corev1.PodFailed })
		b.setStatus("web-3", func(status *corev1.PodStatus) { status.Phase = corev1.PodSucceeded })
		b.settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, b.names())
		assert.Equal(t, int32(3), b.get("web").Status.Replicas)
	})
}

func TestAPodThatIsBeingDeletedIsReplacedUnderAnotherName(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.settle(time.Second)
		pod, err := b.client.Pods().Change(t.Context(), "web-1", func(pod *corev1.Pod) error {
			pod.Finalizers = []string{"example.com/wait"}
			return nil
		})
		require.NoError(t, err)
		b.deletePod("web-1")
		b.settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.names())
		_, err = b.client.Pods().Change(t.Context(), pod.Name, func(pod *corev1.Pod) error {
			pod.Finalizers = nil
			return nil
		})
		require.NoError(t, err)
		b.settle(time.Second)
		assert.Equal(t, []string{"web-2", "web-3"}, b.names())
	})
}
