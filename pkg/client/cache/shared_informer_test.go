package cache_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/master/servertest"
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

func (h *told) handler() cache.ResourceEventHandler[*corev1.Pod] {
	return cache.ResourceEventHandler[*corev1.Pod]{
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
	o.informer.AddEventHandler(o.told.handler())
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

// newest returns the versions of the objects by their keys.
func newest(pods []*corev1.Pod) map[string]string {
	versions := map[string]string{}
	for _, pod := range pods {
		versions[cache.Key(pod)] = pod.ResourceVersion
	}
	return versions
}

// expectConverged waits until the copy is the list of the server.
func (o *observed) expectConverged() {
	o.t.Helper()
	list, err := o.client.Pods().List(o.t.Context(), metav1.ListOptions{})
	require.NoError(o.t, err)
	deadline := time.Now().Add(time.Minute) // of the bubble's clock
	for want := newest(list.Items); !maps.Equal(want, newest(o.informer.Store().List())); time.Sleep(time.Second) {
		require.True(o.t, time.Now().Before(deadline), "the copy is not the list: %v, not %v", newest(o.informer.Store().List()), want)
	}
}

func TestAnInformerTellsOfWhatIsThereAndOfWhatChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 0)
		o.create("a", "b")
		assert.False(t, o.informer.HasSynced())
		assert.Empty(t, o.informer.Version())
		go o.informer.Run(t.Context())
		synctest.Wait()
		assert.True(t, o.informer.HasSynced())
		assert.ElementsMatch(t, []string{"add a", "add b"}, o.told.take())

		o.label("a", "1")
		o.create("c")
		o.delete("b")
		synctest.Wait()
		assert.Equal(t, []string{"update a  → 1", "add c", "delete b"}, o.told.take())
		assert.Len(t, o.informer.Store().List(), 2)
		list, err := o.client.Pods().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		assert.Equal(t, list.ResourceVersion, o.informer.Version())
	})
}

func TestAHandlerThatComesLaterIsToldOfWhatIsThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 0)
		o.create("a")
		go o.informer.Run(t.Context())
		synctest.Wait()
		later := &told{}
		hasSynced := o.informer.AddEventHandler(later.handler())
		synctest.Wait()
		assert.Equal(t, []string{"add a"}, later.take())
		assert.True(t, hasSynced())
	})
}

func TestAHandlerHasSyncedWhenItWasToldOfTheFirstList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 0)
		o.create("a", "b")
		goOn := make(chan struct{})
		hasSynced := o.informer.AddEventHandler(cache.ResourceEventHandler[*corev1.Pod]{OnAdd: func(*corev1.Pod) { <-goOn }})
		go o.informer.Run(t.Context())
		synctest.Wait()
		assert.True(t, o.informer.HasSynced())
		goOn <- struct{}{}
		synctest.Wait()
		assert.False(t, hasSynced())
		goOn <- struct{}{}
		assert.True(t, cache.WaitForSync(t.Context(), hasSynced))
	})
}

func TestASlowHandlerIsToldTheNewestStateAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 0)
		slow, goOn := &told{}, make(chan struct{})
		handler := slow.handler()
		o.informer.AddEventHandler(cache.ResourceEventHandler[*corev1.Pod]{
			OnAdd:    func(pod *corev1.Pod) { <-goOn; handler.OnAdd(pod) },
			OnUpdate: handler.OnUpdate,
			OnDelete: handler.OnDelete,
		})
		go o.informer.Run(t.Context())
		synctest.Wait()
		o.create("first")
		synctest.Wait() // the slow handler is at it
		o.create("b", "gone")
		for i := range 3 {
			synctest.Wait() // the other handler has seen the last state
			o.label("b", strconv.Itoa(i))
			o.label("first", strconv.Itoa(i))
		}
		o.delete("gone")
		synctest.Wait()
		assert.Len(t, o.told.take(), 10, "the other handler is told all")
		assert.Empty(t, slow.take())
		close(goOn)
		synctest.Wait()
		assert.Equal(t, []string{"add first", "add b", "update first  → 2"}, slow.take())
	})
}

func TestAHandlerThatPanicsIsToldTheNextChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 0)
		var added []string
		o.informer.AddEventHandler(cache.ResourceEventHandler[*corev1.Pod]{OnAdd: func(pod *corev1.Pod) {
			added = append(added, pod.Name)
			panic("a handler's own mistake")
		}})
		go o.informer.Run(t.Context())
		o.create("a", "b")
		synctest.Wait()
		assert.ElementsMatch(t, []string{"a", "b"}, added)
		assert.ElementsMatch(t, []string{"add a", "add b"}, o.told.take())
	})
}

func TestAnotherObjectOfTheSameNameIsADeletionAndAnAddition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 0)
		o.create("a")
		go o.informer.Run(t.Context())
		synctest.Wait()
		o.told.take()
		o.Stop() // so that both changes are seen at once
		o.Restart()
		o.delete("a")
		o.create("a")
		o.expectConverged()
		synctest.Wait()
		assert.Equal(t, []string{"delete a", "add a"}, o.told.take())
	})
}

func TestInAResyncAHandlerIsToldOfAllObjectsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 10*time.Second)
		o.create("a")
		go o.informer.Run(t.Context())
		synctest.Wait()
		o.told.take()
		time.Sleep(11 * time.Second)
		assert.Equal(t, []string{"update a  → "}, o.told.take())
	})
}

func TestObjectsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 0)
		byLabel := func(pod *corev1.Pod) []string { return []string{pod.Labels["a"]} }
		o.informer.Store().AddIndex("a", byLabel)
		o.create("x", "y")
		go o.informer.Run(t.Context())
		synctest.Wait()
		o.label("x", "1")
		o.label("y", "1")
		o.label("y", "2")
		synctest.Wait()
		store := o.informer.Store()
		names := func(pods []*corev1.Pod) (names []string) {
			for _, pod := range pods {
				names = append(names, pod.Name)
			}
			return names
		}
		assert.Equal(t, []string{"x"}, names(store.ByIndex("a", "1")))
		assert.Equal(t, []string{"y"}, names(store.ByIndex("a", "2")))
		assert.Empty(t, store.ByIndex("a", ""))
		store.AddIndex("name", func(pod *corev1.Pod) []string { return []string{pod.Name} })
		assert.Equal(t, []string{"x"}, names(store.ByIndex("name", "x")), "of what was there before")
		o.delete("x")
		synctest.Wait()
		assert.Empty(t, store.ByIndex("a", "1"))
		found, exists := store.Get("default/y")
		assert.True(t, exists)
		assert.Equal(t, "y", found.Name)
	})
}

// Whatever goes wrong, the copy is the list in the end.
func TestAnInformerConvergesAfterAnyFault(t *testing.T) {
	t.Parallel()
	isWatch := func(req *http.Request) bool { return req.URL.Query().Get("watch") != "" }
	status := func(code int) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":%d}`, code)
	}
	for name, fault := range map[string]func(w http.ResponseWriter, req *http.Request, next http.Handler){
		"a list fails": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			w.WriteHeader(http.StatusInternalServerError)
		},
		"an item of a list is null": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[null]}`)
		},
		"the version of a watch is expired": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if isWatch(req) {
				w.WriteHeader(http.StatusGone)
				io.WriteString(w, status(http.StatusGone))
				return
			}
			next.ServeHTTP(w, req)
		},
		"a watch has an event of an error": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if isWatch(req) {
				io.WriteString(w, `{"type":"ERROR","object":`+status(http.StatusGone)+"}\n")
				return
			}
			next.ServeHTTP(w, req)
		},
		"a watch is cut within an event": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if isWatch(req) {
				io.WriteString(w, `{"type":"ADDED","object":{"kind":"Pod","apiV`)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, req)
		},
		"an event is no JSON": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if isWatch(req) {
				io.WriteString(w, "<html>\n")
				return
			}
			next.ServeHTTP(w, req)
		},
		"an event is of an unknown type": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if isWatch(req) {
				io.WriteString(w, `{"type":"RENAMED","object":{"kind":"Pod","apiVersion":"v1"}}`+"\n")
				return
			}
			next.ServeHTTP(w, req)
		},
		"a watch ends at once": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if !isWatch(req) {
				next.ServeHTTP(w, req)
			}
		},
		"a watch says nothing any more": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if isWatch(req) {
				w.(http.Flusher).Flush()
				<-req.Context().Done()
				return
			}
			next.ServeHTTP(w, req)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := observe(t, 0)
				o.create("a", "b")
				o.Intercept(fault)
				go o.informer.Run(t.Context())
				time.Sleep(time.Minute)
				o.Intercept(nil)
				o.label("a", "1")
				o.delete("b")
				o.create("c")
				time.Sleep(2*watchTime + time.Minute) // the longest watch ends
				o.expectConverged()
			})
		})
	}
}

// watchTime is how long a watch that says nothing lasts, at most half of that.
const watchTime = 5*time.Minute + 15*time.Second

func TestAServerThatFailsIsAskedWithGrowingPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 0)
		var asked atomic.Int64
		o.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			asked.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		go o.informer.Run(t.Context())
		time.Sleep(10 * time.Minute)
		assert.Greater(t, asked.Load(), int64(15), "it goes on")
		assert.Less(t, asked.Load(), int64(60), "with pauses")
	})
}

// The changes of many clients, while the server is stopped and its watches are cut at random moments.
func TestAnInformerConvergesAfterRandomFaults(t *testing.T) {
	t.Parallel()
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := observe(t, 0)
				random := rand.New(rand.NewPCG(seed, 16))
				copied := o.copyByHandler()
				go o.informer.Run(t.Context())
				there := map[string]bool{}
				for range 200 {
					name := string(rune('a' + random.IntN(10)))
					switch action := random.IntN(10); {
					case action == 0:
						o.Stop()
						time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
						o.Restart()
					case action == 1:
						time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
					case !there[name]:
						o.create(name)
						there[name] = true
					case action < 5:
						o.delete(name)
						there[name] = false
					default:
						o.label(name, strconv.FormatUint(random.Uint64(), 36))
					}
				}
				o.expectConverged()
				synctest.Wait()
				assert.Equal(t, newest(o.informer.Store().List()), copied(), "what handlers are told adds up to the copy")
			})
		})
	}
}

// copyByHandler adds a handler that keeps a copy by what it is told, and returns how to get it.
func (o *observed) copyByHandler() func() map[string]string {
	var mu sync.Mutex
	pods := map[string]*corev1.Pod{}
	o.informer.AddEventHandler(cache.ResourceEventHandler[*corev1.Pod]{
		OnAdd: func(pod *corev1.Pod) {
			mu.Lock()
			defer mu.Unlock()
			assert.Nil(o.t, pods[pod.Name], "it is added once")
			pods[pod.Name] = pod
		},
		OnUpdate: func(old, pod *corev1.Pod) {
			mu.Lock()
			defer mu.Unlock()
			if assert.NotNil(o.t, pods[pod.Name], "it was added before") {
				assert.Equal(o.t, pods[pod.Name].ResourceVersion, old.ResourceVersion)
				assert.Equal(o.t, old.UID, pod.UID)
			}
			pods[pod.Name] = pod
		},
		OnDelete: func(pod *corev1.Pod) {
			mu.Lock()
			defer mu.Unlock()
			if assert.NotNil(o.t, pods[pod.Name], "it was added before") {
				assert.Equal(o.t, pods[pod.Name].UID, pod.UID)
			}
			delete(pods, pod.Name)
		},
	})
	return func() map[string]string {
		mu.Lock()
		defer mu.Unlock()
		var all []*corev1.Pod
		for _, pod := range pods {
			all = append(all, pod)
		}
		return newest(all)
	}
}

func TestTheEndOfTheContextEndsAnInformer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { o.informer.Run(ctx); close(ended) }()
		synctest.Wait()
		cancel()
		<-ended
		assert.False(t, cache.WaitForSync(ctx, func() bool { return false }))
	})
}

func TestASelectionIsListedAndWatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, 0)
		chosen, told := cache.NewSharedInformer("chosen pods", cache.Select[*corev1.Pod](o.client.Pods(), "a=1", "metadata.name!=b"), 0), &told{}
		chosen.AddEventHandler(told.handler())
		o.create("a", "b", "c")
		o.label("a", "1")
		o.label("b", "1")
		go chosen.Run(t.Context())
		synctest.Wait()
		o.label("c", "1")
		o.label("a", "2")
		synctest.Wait()
		assert.Equal(t, []string{"add a", "add c", "delete a"}, told.take())
	})
}
