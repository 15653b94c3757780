package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	writers = 8
	seed    = 2014
	names   = 100 // of pods that the writers fight over
)

// world is a server under load. Its writers and its informers reach it on ways of their own.
type world struct {
	*server
	readers *proxy // for the informers
	acked   atomic.Int64
	up      sync.RWMutex // held by who ends the server and starts it again
}

// connect opens the way of the informers, which start leaves alone.
func (w *world) connect() {
	w.mu.Lock()
	to := w.to
	w.mu.Unlock()
	w.readers.forward(to)
}

// waitUntilUp waits for who has ended the server to start it again. That the server has ended by
// itself is an error.
func (w *world) waitUntilUp(t *testing.T) {
	w.up.RLock()
	defer w.up.RUnlock()
	assert.False(t, w.process.hasEnded(), "the server has ended by itself")
}

// writer makes random changes. That somebody else was faster is no error; nor is a request
// that nobody answered, because its connection was cut or the server ended: it may have
// taken effect.
type writer struct {
	world  *world
	random *rand.Rand
	pods   typedv1.PodInterface
}

func (w *writer) change(t *testing.T) {
	w.world.waitUntilUp(t)
	name, value := fmt.Sprint("pod-", w.random.IntN(names)), fmt.Sprint(w.random.IntN(1000))
	ctx, tier := t.Context(), map[string]string{"tier": value}
	var err error
	switch op := w.random.IntN(10); op {
	case 0, 1:
		_, err = w.pods.Create(ctx, pod(name, tier), metav1.CreateOptions{})
	case 2:
		var got *corev1.Pod
		if got, err = w.pods.Get(ctx, name, metav1.GetOptions{}); err == nil {
			got.Labels = tier
			_, err = w.pods.Update(ctx, got, metav1.UpdateOptions{})
		}
	case 3, 4:
		_, err = w.pods.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata": {"labels": {"tier": "`+value+`"}}}`), metav1.PatchOptions{})
	case 5, 6:
		err = w.pods.Delete(ctx, name, metav1.DeleteOptions{})
	default:
		err = w.throughFirstDoor(ctx, op, name, value)
	}
	switch {
	case err == nil:
		w.world.acked.Add(1)
	case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), apierrors.IsConflict(err):
	case apierrors.IsServiceUnavailable(err): // what a killed server has begun is not finished yet
	default:
		var answer apierrors.APIStatus
		assert.False(t, errors.As(err, &answer), "%v", err)
	}
}

// throughFirstDoor creates, replaces or deletes a task.
func (w *writer) throughFirstDoor(ctx context.Context, op int, name, value string) error {
	if onToday() { // it has none
		return nil
	}
	task := fmt.Sprintf(`{"id": %q, "labels": {"tier": %q}, "desiredState": {"manifest": {"version": "v1beta1", "containers": [{"name": "c", "image": "nginx"}]}}}`, name, value)
	method, path := http.MethodPost, "/api/v1beta1/tasks"
	switch op {
	case 8:
		method, path = http.MethodPut, path+"/"+name
	case 9:
		method, path, task = http.MethodDelete, path+"/"+name, ""
	}
	status, text, err := ask(ctx, method, w.world.url()+path, task)
	if err == nil && status != http.StatusOK {
		err = &apierrors.StatusError{ErrStatus: metav1.Status{Code: int32(status), Message: text, Reason: map[int]metav1.StatusReason{
			http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusConflict: metav1.StatusReasonConflict,
			http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
		}[status]}}
	}
	return err
}

// ask sends a request to the first door.
func ask(ctx context.Context, method, url, body string) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(data), err
}

// change lets the writers make so many changes, unless the test fails, and calls each after
// every so many of them, while the others go on.
func (w *world) change(t *testing.T, all []*writer, n, every int, each func()) {
	from := w.acked.Load()
	var changing sync.WaitGroup
	var interrupted sync.Mutex // guards next
	next := from + int64(every)
	interrupt := func() {
		interrupted.Lock()
		defer interrupted.Unlock() // also if each fails the test, which ends the goroutine
		if w.acked.Load() >= next {
			next += int64(every)
			each()
		}
	}
	for _, writer := range all {
		changing.Go(func() {
			for w.acked.Load() < from+int64(n) && !t.Failed() {
				writer.change(t)
				interrupt()
			}
		})
	}
	changing.Wait()
}

// restart ends the server at once, and starts it again. Between the two something may happen.
func (w *world) restart(t *testing.T, between func()) {
	w.up.Lock()
	defer w.up.Unlock()
	w.kill()
	between()
	w.start(t)
}

// listFirst is a source for informers that do not use watch lists.
type listFirst struct{ *cache.ListWatch }

func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }

// copied is an informer, what a handler made of its events, and how it asked.
type copied struct {
	cache.SharedIndexInformer
	*follower
	*requests
}

// copyPods runs an informer behind the readers' proxy.
func (w *world) copyPods(t *testing.T, watchList bool) copied {
	c := copied{requests: &requests{}}
	clients := clientsetFor(t, configFor(w.scheme+"://"+w.readers.address(), c.see))
	source := cache.NewListWatchFromClient(clients.CoreV1().RESTClient(), "pods", metav1.NamespaceDefault, fields.Everything())
	if watchList {
		c.SharedIndexInformer = cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
	} else {
		c.SharedIndexInformer = cache.NewSharedIndexInformer(listFirst{source}, &corev1.Pod{}, 0, cache.Indexers{})
	}
	c.follower = follow(t, c.SharedIndexInformer, 0)
	run(t, c)
	return c
}

// began returns how often an informer asked for all that there is.
func (c copied) began() int {
	made := c.made()
	return made.lists + made.listWatch
}

// check waits until a copy is the list. The list may still change: a server that was started
// again repairs what was left half done.
func (c copied) check(t *testing.T, clients kubernetes.Interface) {
	var list []corev1.Pod
	var stored []any
	eventually(t, func() bool {
		list, stored = listPods(t, clients), c.GetStore().List()
		want := identitiesOf(pointers(list))
		return maps.Equal(want, identitiesOf(stored)) && c.has(want)
	}, "the copy is the list, and a handler was told of it")
	c.follower.check(t)
	copies := map[string]any{}
	for _, object := range stored {
		copies[identityOf(object).name] = object
	}
	for _, pod := range list {
		assert.Equal(t, &pod, copies[pod.Name], "it is the same in all that it says")
	}
}

// checkCopies lets informers follow n changes. lose makes the server lose its history.
func checkCopies(t *testing.T, s *server, n int, mayEnd bool, lose func(w *world)) {
	w := &world{server: s, readers: newProxy(t)}
	w.connect()
	clients := clientsetFor(t, w.config())
	var all []*writer
	for i := range writers {
		all = append(all, &writer{w, rand.New(rand.NewPCG(seed, uint64(i))), clients.CoreV1().Pods(metav1.NamespaceDefault)})
	}
	copies := []copied{w.copyPods(t, true), w.copyPods(t, false)}
	assert.Equal(t, 1, copies[0].made().listWatch)
	assert.Equal(t, 1, copies[1].made().lists)
	same := func() {
		for _, c := range copies {
			c.check(t, clients)
		}
	}

	w.change(t, all, n/2, n/20, func() {
		w.readers.cut()
		w.cut()
	})
	same()
	if mayEnd {
		w.change(t, all, n/4, n/10, func() {
			w.restart(t, func() {})
			w.connect()
		})
		same()
	}
	if lose != nil {
		w.readers.forward("")
		var before []int
		for _, c := range copies {
			before = append(before, c.began())
		}
		w.change(t, all, n/4, n, func() {})
		lose(w)
		w.change(t, all, n/20, n, func() {})
		w.connect()
		same()
		for i, c := range copies {
			assert.Greater(t, c.began(), before[i], "it had to begin anew")
		}
	}
}

func TestAnInformersCopyIsTheListAfterAllChanges(t *testing.T) {
	t.Parallel()
	n, all := changes(t)
	t.Run("in memory, with cut connections", func(t *testing.T) {
		t.Parallel()
		lose := func(w *world) { w.pushOut(t) }
		if !all || onToday() { // which remembers more
			lose = nil
		}
		checkCopies(t, inMemory(t), n, false, lose)
	})
	t.Run("on etcd, with a server that is killed", func(t *testing.T) {
		t.Parallel()
		if !all {
			t.Skip("make proof runs it: " + changesVariable)
		}
		checkCopies(t, onEtcd(t), n, true, func(w *world) {
			w.restart(t, func() { w.forget(t) })
		})
	})
}

// pushOut makes so many changes of a few pods that the history of pods has no others.
func (w *world) pushOut(t *testing.T) {
	const history = 10000
	clients := clientsetFor(t, w.config())
	var changing sync.WaitGroup
	for i := range writers {
		changing.Go(func() { w.changePod(t, clients, fmt.Sprint("busy-", i), history/writers+1) })
	}
	changing.Wait()
}

func (w *world) changePod(t *testing.T, clients kubernetes.Interface, name string, n int) {
	pods := clients.CoreV1().Pods(metav1.NamespaceDefault)
	_, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}}}, metav1.CreateOptions{})
	for i := 0; i < n && assert.NoError(t, err); i++ {
		_, err = pods.Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"metadata": {"labels": {"n": "%d"}}}`, i), metav1.PatchOptions{})
	}
}
