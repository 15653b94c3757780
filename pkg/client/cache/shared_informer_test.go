package cache_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/servertest"
	clientv1 "kube2014/pkg/client/v1"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

// told is what a handler was told, a line for each call.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (h *told) note(format string, args ...interface{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

// take returns the lines, and forgets them.
func (h *told) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.lines
	h.lines = nil
	return lines
}

func (h *told) handler() cache.Handler[*corev1.Pod] {
	return cache.Handler[*corev1.Pod]{
		OnAdd:    func(pod *corev1.Pod) { h.note("add %s", pod.Name) },
		OnUpdate: func(old, pod *corev1.Pod) { h.note("update %s %s → %s", pod.Name, old.Labels["a"], pod.Labels["a"]) },
		OnDelete: func(pod *corev1.Pod) { h.note("delete %s", pod.Name) },
	}
}

// observed is an informer of a server's pods with a handler, in a synctest bubble.
type observed struct {
	*servertest.Server
	t        *testing.T
	client   *clientv1.Client
	informer *cache.SharedInformer[*corev1.Pod]
	told     *told
}

func observe(t *testing.T, resync time.Duration) *observed {
	server := servertest.Start(t)
	o := &observed{server, t, server.Client(t, "test"), nil, &told{}}
	o.informer = cache.NewSharedInformer("pods", o.client.Pods().Everywhere(), resync)
	o.informer.AddHandler(o.told.handler())
	return o
}

func (o *observed) create(names ...string) {
	for _, name := range names {
		_, err := o.client.Pods().Create(o.t.Context(), pod(name))
		require.NoError(o.t, err)
	}
}

func (o *observed) label(name, value string) {
	_, err := o.client.Pods().Change(o.t.Context(), name, func(pod *corev1.Pod) error {
		pod.Labels = map[string]string{"a": value}
		return nil
	})
	require.NoError(o.t, err)
}

func (o *observed) delete(name string) {
	require.NoError(o.t, o.client.Pods().Delete(o.t.Context(), name, metav1.DeleteOptions{}))
}

func TestAnInformerTellsOfWhatIsThereAndOfWhatChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 0)
		o.create("a", "b")
		assert.False(t, o.informer.HasSynced())
		go o.informer.Run(t.Context())
		synctest.Wait()
		assert.True(t, o.informer.HasSynced())
		assert.ElementsMatch(t, []string{"add a", "add b"}, o.told.take())

		o.label("a", "1")
		o.create("c")
		o.delete("b")
		synctest.Wait()
		assert.Equal(t, []string{"update a  → 1", "add c", "delete b"}, o.told.take())
		assert.Equal(t, 2, o.informer.Store().Len())
	})
}

var _ = http.MethodGet
