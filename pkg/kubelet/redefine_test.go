package kubelet

import (
	"context"
	"testing"
	"time"

	"kube2014/pkg/kubelet/cri"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
)

// fakeRuntime has containers that run at once, and stop when they are told to.
type fakeRuntime struct{ started []*fakeContainer }

type fakeContainer struct {
	cri.Container
	name    string
	state   cri.State
	updates int
}

func (r *fakeRuntime) Version() string { return "fake://1" }

func (r *fakeRuntime) Start(spec cri.Spec) cri.Container {
	c := &fakeContainer{name: spec.Name, state: cri.State{Phase: cri.Running, StartedAt: time.Now()}}
	r.started = append(r.started, c)
	return c
}

func (c *fakeContainer) State() cri.State                              { return c.state }
func (c *fakeContainer) Usage(time.Time) cri.Usage                     { return cri.Usage{CPU: 1} }
func (c *fakeContainer) Log(int) ([]cri.LogLine, int, <-chan struct{}) { return nil, 0, nil }
func (c *fakeContainer) Stop(time.Duration) {
	c.state.Phase, c.state.FinishedAt = cri.Exited, time.Now()
}
func (c *fakeContainer) Update(*corev1.Pod)                         { c.updates++ }
func (c *fakeContainer) Probe(context.Context, cri.ProbeKind) error { return nil }

// phases tells the containers that were started: name phase.
func (r *fakeRuntime) phases() (all []string) {
	for _, c := range r.started {
		all = append(all, c.name+" "+string(c.state.Phase))
	}
	return all
}

// A PUT at the first door may change all of a task; the pod stays the same.
func TestAPodThatIsChangedRunsWhatItSaysNow(t *testing.T) {
	t.Parallel()
	runtime := &fakeRuntime{}
	k := New(Config{Name: "m1", Client: clientv1.New("http://nowhere"), Runtime: runtime})
	version := func(version, annotation string, containers ...corev1.Container) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u", ResourceVersion: version, Annotations: map[string]string{"a": annotation}},
			Spec:       corev1.PodSpec{Containers: containers},
		}
	}
	a, b, c := corev1.Container{Name: "a", Image: "1"}, corev1.Container{Name: "b", Image: "1"}, corev1.Container{Name: "c", Image: "1"}
	w := k.newWorker("default/web", version("1", "", a, b), time.Now())
	w.sync(version("1", "", a, b), time.Now())
	w.sync(version("2", "", a, b), time.Now())
	assert.Equal(t, []string{"a running", "b running"}, runtime.phases())

	changed := b
	changed.Image = "2"
	w.sync(version("3", "", changed, c), time.Now())
	w.sync(version("3", "", changed, c), time.Now())
	assert.Equal(t, []string{"a exited", "b exited", "b running", "c running"}, runtime.phases())
	assert.EqualValues(t, 4, w.usage(time.Now()).CPU, "what ended counts too")
	assert.Equal(t, []int32{1, 0}, []int32{w.status.ContainerStatuses[0].RestartCount, w.status.ContainerStatuses[1].RestartCount})
	assert.Equal(t, []string{"b", "c"}, []string{w.status.ContainerStatuses[0].Name, w.status.ContainerStatuses[1].Name})

	w.sync(version("2", "old", a, b), time.Now())
	assert.Len(t, runtime.started, 4, "an older version is no news")
	w.sync(version("4", "new", changed, c), time.Now())
	assert.Equal(t, []int{0, 0, 1, 1}, []int{runtime.started[0].updates, runtime.started[1].updates, runtime.started[2].updates, runtime.started[3].updates})
	more := c
	more.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: k.Capacity[corev1.ResourceCPU]}
	w.sync(version("5", "new", changed, more), time.Now())
	assert.Len(t, runtime.started, 4, "resources are changed as it runs")
	assert.Same(t, &w.pod.Spec.Containers[1], w.containers[1].Spec)
	assert.Equal(t, more.Resources.Limits, w.status.ContainerStatuses[1].Resources.Limits)
}

// panickyRuntime cannot start a container.
type panickyRuntime struct{ fakeRuntime }

func (r *panickyRuntime) Start(cri.Spec) cri.Container { panic("no") }

func TestAPanicLeavesNoLockBehind(t *testing.T) {
	t.Parallel()
	k := New(Config{Name: "m1", Client: clientv1.New("http://nowhere"), Runtime: &panickyRuntime{}})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}}
	w := k.newWorker("web", pod, time.Now())
	for range 2 {
		assert.Panics(t, func() { w.sync(pod, time.Now()) })
	}
}
