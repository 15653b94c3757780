package controller

import (
	"context"
	"fmt"
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
)

// replicated is a server with replication controllers and managers, in a synctest bubble.
type replicated struct {
	*servertest.Server
	t      testing.TB
	client *clientv1.Client

	mu     sync.Mutex // guards what follows
	events []string
}

func newReplicated(t testing.TB) *replicated {
	server := servertest.Start(t)
	return &replicated{Server: server, t: t, client: server.Client(t, "test")}
}

// Eventf implements record.EventRecorder.
func (r *replicated) Eventf(about clientv1.Object, eventType, reason, message string, args ...interface{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf("%s %s %s: %s", about.GetName(), eventType, reason, fmt.Sprintf(message, args...)))
}

// takeEvents returns the events so far, and forgets them.
func (r *replicated) takeEvents() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// run runs a manager until the function that it returns is called.
func (r *replicated) run() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	client := r.Client(r.t, "replication manager")
	objects := informers.New(client, 0)
	m := NewReplicationManager(ReplicationManagerConfig{Client: client, Informers: objects, Recorder: r})
	objects.Run(ctx)
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx, 2) })
	stop = func() { cancel(); running.Wait() }
	r.t.Cleanup(stop)
	return stop
}

var app = map[string]string{"app": "web"}

func makeController(name string, replicas int32) *corev1.ReplicationController {
	return &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: app, Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: app, Annotations: map[string]string{"a": "1"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}},
	}
}

func (r *replicated) create(name string, replicas int32, edit ...func(*corev1.ReplicationController)) *corev1.ReplicationController {
	rc := makeController(name, replicas)
	for _, edit := range edit {
		edit(rc)
	}
	made, err := r.client.ReplicationControllers().Create(r.t.Context(), rc)
	require.NoError(r.t, err)
	return made
}

func (r *replicated) scale(name string, replicas int32) {
	_, err := r.client.ReplicationControllers().Change(r.t.Context(), name, func(rc *corev1.ReplicationController) error {
		rc.Spec.Replicas = &replicas
		return nil
	})
	require.NoError(r.t, err)
}

func (r *replicated) pod(name string, edit func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if edit != nil {
		edit(pod)
	}
	made, err := r.client.Pods().Create(r.t.Context(), pod)
	require.NoError(r.t, err)
	return made
}

func (r *replicated) get(name string) *corev1.Pod {
	pod, err := r.client.Pods().Get(r.t.Context(), name)
	require.NoError(r.t, err)
	return pod
}

func (r *replicated) controller(name string) *corev1.ReplicationController {
	rc, err := r.client.ReplicationControllers().Get(r.t.Context(), name)
	require.NoError(r.t, err)
	return rc
}

func (r *replicated) change(name string, change func(*corev1.Pod)) {
	_, err := r.client.Pods().Change(r.t.Context(), name, func(pod *corev1.Pod) error { change(pod); return nil })
	require.NoError(r.t, err)
}

func (r *replicated) setStatus(name string, change func(*corev1.PodStatus)) {
	pod := r.get(name)
	change(&pod.Status)
	_, err := r.client.Pods().UpdateStatus(r.t.Context(), pod)
	require.NoError(r.t, err)
}

func (r *replicated) delete(name string) {
	require.NoError(r.t, r.client.Pods().Delete(r.t.Context(), name, metav1.DeleteOptions{}))
}

// names returns the names of all pods, sorted.
func (r *replicated) names() []string {
	list, err := r.client.Pods().List(r.t.Context(), metav1.ListOptions{})
	require.NoError(r.t, err)
	var names []string
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// settle lets time pass until what is to happen has happened.
func settle(pause time.Duration) {
	time.Sleep(pause)
	synctest.Wait()
}

func replicate(t *testing.T, test func(t *testing.T, r *replicated)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newReplicated(t)) })
}

func ready(since time.Time) func(*corev1.PodStatus) {
	return func(status *corev1.PodStatus) {
		status.Phase = corev1.PodRunning
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	}
}

func TestAControllerGetsThePodsThatItWants(t *testing.T) {
	replicate(t, func(t *testing.T, r *replicated) {
		r.run()
		rc := r.create("web", 3)
		settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, r.names())
		assert.Equal(t, []string{"web Normal SuccessfulCreate: Created pod: web-1", "web Normal SuccessfulCreate: Created pod: web-2",
			"web Normal SuccessfulCreate: Created pod: web-3"}, r.takeEvents())
		pod := r.get("web-1")
		assert.Equal(t, app, pod.Labels)
		assert.Equal(t, map[string]string{"a": "1"}, pod.Annotations)
		assert.Equal(t, "i", pod.Spec.Containers[0].Image)
		assert.True(t, metav1.IsControlledBy(pod, rc))

		r.scale("web", 5)
		settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, r.names())
		r.scale("web", 1)
		settle(time.Second)
		assert.Equal(t, []string{"web-1"}, r.names())
		assert.Contains(t, strings.Join(r.takeEvents(), "\n"), "web Normal SuccessfulDelete: Deleted pod: web-5")
		r.scale("web", 0)
		settle(time.Second)
		assert.Empty(t, r.names())
	})
}

func TestAPodThatIsGoneIsReplaced(t *testing.T) {
	replicate(t, func(t *testing.T, r *replicated) {
		r.run()
		r.create("web", 2)
		settle(time.Second)
		r.delete("web-1")
		settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2"}, r.names())
		r.setStatus("web-1", func(status *corev1.PodStatus) { status.Phase = corev1.PodFailed })
		settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, r.names(), "one that has ended does not count, and keeps its name")
		r.change("web-2", func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/wait"} })
		r.delete("web-2")
		settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4"}, r.names(), "nor one that is being deleted")
	})
}

func TestTheDeletionOfAControllerLeavesItsPods(t *testing.T) {
	replicate(t, func(t *testing.T, r *replicated) {
		r.run()
		r.create("web", 2)
		settle(time.Second)
		require.NoError(t, r.client.ReplicationControllers().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		settle(time.Minute)
		assert.Equal(t, []string{"web-1", "web-2"}, r.names())
		r.create("web", 2)
		settle(time.Minute)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4"}, r.names(), "another one of its name does not own them")
	})
}

func TestPodsAreAdoptedAndReleased(t *testing.T) {
	replicate(t, func(t *testing.T, r *replicated) {
		r.pod("orphan", nil)
		other := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Thing", Name: "x", UID: "7"}
		r.pod("with-owner", func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{other} })
		r.pod("foreign", func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "8", Controller: new(true)}}
		})
		r.pod("unlike", func(pod *corev1.Pod) { pod.Labels = nil })
		r.pod("ended", nil)
		r.setStatus("ended", func(status *corev1.PodStatus) { status.Phase = corev1.PodSucceeded })
		r.run()
		rc := r.create("web", 3)
		settle(time.Second)
		assert.Equal(t, []string{"ended", "foreign", "orphan", "unlike", "web-1", "with-owner"}, r.names())
		assert.True(t, metav1.IsControlledBy(r.get("orphan"), rc))
		assert.True(t, metav1.IsControlledBy(r.get("with-owner"), rc))
		assert.Equal(t, other, r.get("with-owner").OwnerReferences[0])
		assert.False(t, metav1.IsControlledBy(r.get("foreign"), rc))
		assert.Empty(t, r.get("ended").OwnerReferences)

		r.change("orphan", func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "debug"} })
		r.change("with-owner", func(pod *corev1.Pod) { pod.Labels = nil })
		settle(time.Second)
		assert.Empty(t, r.get("orphan").OwnerReferences)
		assert.Equal(t, []metav1.OwnerReference{other}, r.get("with-owner").OwnerReferences)
		assert.Equal(t, []string{"ended", "foreign", "orphan", "unlike", "web-1", "web-2", "web-3", "with-owner"}, r.names())

		r.change("orphan", func(pod *corev1.Pod) { pod.Labels = app })
		settle(time.Second)
		assert.Equal(t, []string{"ended", "foreign", "orphan", "unlike", "web-1", "web-2", "with-owner"}, r.names(), "one too many: the youngest goes")
	})
}

func TestTheStatusTellsHowManyPodsThereAre(t *testing.T) {
	replicate(t, func(t *testing.T, r *replicated) {
		r.run()
		r.create("web", 3, func(rc *corev1.ReplicationController) {
			rc.Spec.MinReadySeconds = 30
			rc.Spec.Template.Labels = map[string]string{"app": "web", "tier": "front"}
		})
		r.pod("orphan", nil)
		settle(time.Second)
		status := func() corev1.ReplicationControllerStatus { return r.controller("web").Status }
		assert.Equal(t, corev1.ReplicationControllerStatus{Replicas: 3, FullyLabeledReplicas: 2, ObservedGeneration: 1}, status())
		r.setStatus("orphan", ready(time.Now()))
		settle(time.Second)
		assert.EqualValues(t, 1, status().ReadyReplicas)
		assert.EqualValues(t, 0, status().AvailableReplicas)
		settle(28 * time.Second)
		assert.EqualValues(t, 0, status().AvailableReplicas)
		settle(time.Second)
		assert.EqualValues(t, 1, status().AvailableReplicas)
		version := r.controller("web").ResourceVersion
		settle(time.Hour)
		assert.Equal(t, version, r.controller("web").ResourceVersion, "it is written when something has changed")
		r.scale("web", 1)
		settle(time.Second)
		assert.Equal(t, corev1.ReplicationControllerStatus{Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, ObservedGeneration: 2}, status())
		assert.Equal(t, []string{"orphan"}, r.names())
	})
}
