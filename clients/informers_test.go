package clients

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientfeatures "k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// identity says which state of which object something is.
type identity struct {
	name    string
	uid     types.UID
	version string
}

func identityOf(object any) identity {
	accessor, err := meta.Accessor(object)
	if err != nil {
		panic(err) // informers hold objects only
	}
	return identity{accessor.GetName(), accessor.GetUID(), accessor.GetResourceVersion()}
}

func identitiesOf[T any](objects []T) map[string]identity {
	identities := map[string]identity{}
	for _, object := range objects {
		i := identityOf(object)
		identities[i.name] = i
	}
	return identities
}

// follower is a handler of an informer's events that keeps what they tell, and notes what
// cannot be.
type follower struct {
	mu       sync.Mutex // guards what follows
	there    map[string]identity
	wrong    []string
	resynced map[string]bool // the names of objects that were told once more
}

func follow(t *testing.T, informer cache.SharedIndexInformer, resync time.Duration) *follower {
	f := &follower{there: map[string]identity{}, resynced: map[string]bool{}}
	_, err := informer.AddEventHandlerWithResyncPeriod(f, resync)
	require.NoError(t, err)
	return f
}

func (f *follower) OnAdd(object any, _ bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	is := identityOf(object)
	if was, there := f.there[is.name]; there {
		f.wrong = append(f.wrong, fmt.Sprintf("%v was added, but %v is there", is, was))
	}
	f.there[is.name] = is
}

func (f *follower) OnUpdate(before, after any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, is := identityOf(before), identityOf(after)
	if f.there[is.name] != was {
		f.wrong = append(f.wrong, fmt.Sprintf("%v was updated to %v, but %v is there", was, is, f.there[is.name]))
	}
	if was == is {
		f.resynced[is.name] = true
	}
	if number(is.version) < number(was.version) {
		f.wrong = append(f.wrong, fmt.Sprintf("%v went back to %v", was, is))
	}
	f.there[is.name] = is
}

func (f *follower) OnDelete(object any) {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	is := identityOf(object)
	if _, there := f.there[is.name]; !there {
		f.wrong = append(f.wrong, fmt.Sprintf("%v was deleted, but is not there", is))
	}
	delete(f.there, is.name)
}

func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		panic(err) // both servers count
	}
	return n
}

func (f *follower) has(want map[string]identity) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Equal(want, f.there)
}

// sawAgain returns the names of the objects that were told once more.
func (f *follower) sawAgain() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.resynced))
}

func (f *follower) check(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.Empty(t, f.wrong)
}

// counts is in which ways, and how often, an informer asked for what there is, and for changes.
type counts struct{ lists, watches, listWatch int }

// requests counts the requests of an informer.
type requests struct {
	mu sync.Mutex // guards what follows
	counts
}

// made returns what there was until now.
func (r *requests) made() counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

func (r *requests) see(request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch query := request.URL.Query(); {
	case query.Get("sendInitialEvents") == "true":
		r.listWatch++
	case query.Get("watch") != "":
		r.watches++
	default:
		r.lists++
	}
}

// run runs an informer until the test ends.
func run(t *testing.T, informer cache.SharedIndexInformer) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { informer.Run(stop) })
	t.Cleanup(func() {
		close(stop)
		running.Wait()
	})
	eventually(t, informer.HasSynced, "the informer has synced")
}

func listPods(t *testing.T, clients kubernetes.Interface) []corev1.Pod {
	list, err := clients.CoreV1().Pods(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

func pointers[T any](items []T) (all []*T) {
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}

const byTier = "by tier"

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// makers make an informer of all pods of each sort.
var makers = map[string]func(t *testing.T, config *rest.Config) cache.SharedIndexInformer{
	"typed": func(t *testing.T, config *rest.Config) cache.SharedIndexInformer {
		return informers.NewSharedInformerFactory(clientsetFor(t, config), time.Hour).Core().V1().Pods().Informer()
	},
	"dynamic": func(t *testing.T, config *rest.Config) cache.SharedIndexInformer {
		client, err := dynamic.NewForConfig(config)
		require.NoError(t, err)
		return dynamicinformer.NewDynamicSharedInformerFactory(client, time.Hour).ForResource(podResource).Informer()
	},
	"metadata only": func(t *testing.T, config *rest.Config) cache.SharedIndexInformer {
		client, err := metadata.NewForConfig(config)
		require.NoError(t, err)
		return metadatainformer.NewSharedInformerFactory(client, time.Hour).ForResource(podResource).Informer()
	},
}

// checkInformer lets an informer with two handlers and an index follow some changes; a third
// handler comes later.
func checkInformer(t *testing.T, clients *kubernetes.Clientset, informer cache.SharedIndexInformer) {
	require.NoError(t, informer.AddIndexers(cache.Indexers{byTier: func(object any) ([]string, error) {
		accessor, err := meta.Accessor(object)
		return []string{accessor.GetLabels()["tier"]}, err
	}}))
	pods := clients.CoreV1().Pods(metav1.NamespaceDefault)
	for i := range 3 {
		createPod(t, clients, fmt.Sprint("pod-", i), map[string]string{"tier": "front"})
	}
	followers := []*follower{follow(t, informer, time.Second), follow(t, informer, 0)}
	run(t, informer)

	tier := func(name string) []string {
		keys, err := informer.GetIndexer().IndexKeys(byTier, name)
		require.NoError(t, err)
		slices.Sort(keys)
		return keys
	}
	assert.Equal(t, []string{"default/pod-0", "default/pod-1", "default/pod-2"}, tier("front"))
	_, err := pods.Patch(t.Context(), "pod-1", types.MergePatchType, []byte(`{"metadata": {"labels": {"tier": "back"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	deletePod(t, clients, "pod-2")
	createPod(t, clients, "pod-3", nil)

	followers = append(followers, follow(t, informer, 0))
	want := identitiesOf(pointers(listPods(t, clients)))
	assert.Len(t, want, 3)
	for _, f := range followers {
		eventually(t, func() bool { return f.has(want) }, "each handler has what the list has")
		f.check(t)
	}
	assert.Equal(t, want, identitiesOf(informer.GetStore().List()))
	assert.Equal(t, []string{"default/pod-0"}, tier("front"))
	assert.Equal(t, []string{"default/pod-1"}, tier("back"))

	for name := range want {
		eventually(t, func() bool { return slices.Contains(followers[0].sawAgain(), name) }, name+" is told once more")
	}
	assert.Empty(t, followers[1].sawAgain(), "but not to who did not ask for it")
	for _, f := range followers {
		f.check(t)
	}
	for name := range want {
		deletePod(t, clients, name)
	}
}

// It sets a feature of the whole process, so it is not parallel.
func TestInformersHaveWhatTheListHas(t *testing.T) {
	s := inMemory(t)
	clients := clientsetFor(t, s.config())
	for _, watchList := range []bool{true, false} {
		featurestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, watchList)
		for sort, make := range makers {
			t.Run(fmt.Sprintf("%s, with watch lists: %t", sort, watchList), func(t *testing.T) {
				var seen requests
				checkInformer(t, clients, make(t, s.config(seen.see)))
				if watchList {
					assert.Equal(t, counts{listWatch: 1}, seen.made(), "one stream tells all")
				} else {
					assert.Equal(t, counts{lists: 1, watches: 1}, seen.made(), "a list, then a watch")
				}
			})
		}
	}
}

func TestAMetadataInformerHasMetadata(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	created := createPod(t, clientsetFor(t, s.config()), "web", map[string]string{"tier": "front"})
	informer := makers["metadata only"](t, s.config())
	run(t, informer)
	objects := informer.GetStore().List()
	require.Len(t, objects, 1)
	object, ok := objects[0].(*metav1.PartialObjectMetadata)
	require.True(t, ok)
	assert.Equal(t, created.ObjectMeta, object.ObjectMeta)
}
