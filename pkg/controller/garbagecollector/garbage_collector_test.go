package garbagecollector

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/api"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/master/servertest"
	"kube2014/pkg/storage"
)

// bench is a server with config maps that own each other, in a synctest bubble.
type bench struct {
	*servertest.Server
	t      *testing.T
	client *clientv1.Client
	told   []string
}

func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newBench(t)) })
}

func newBench(t *testing.T) *bench {
	server := servertest.Start(t)
	b := &bench{Server: server, t: t, client: server.Client(t, "test")}
	for _, name := range []string{"default", "dev"} {
		_, err := b.client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		require.NoError(t, err)
	}
	return b
}

// Eventf implements record.EventRecorder.
func (b *bench) Eventf(about clientv1.Object, eventType, reason, message string, args ...any) {
	b.told = append(b.told, fmt.Sprintf("%s %s %s %s: ", about.GetObjectKind().GroupVersionKind().Kind, about.GetName(), eventType, reason)+fmt.Sprintf(message, args...))
}

// run runs a collector until the function that it returns is called.
func (b *bench) run() (stop func()) {
	gc := NewGarbageCollector(controller.Config{Client: b.Client(b.t, "collector"), Recorder: b, Resources: b.Resources})
	return servertest.Run(b.t, func(ctx context.Context) { gc.Run(ctx, 2) })
}

func (b *bench) settle() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

// blocking makes a reference one that blocks its owner.
const blocking = true

// refTo returns a reference to a config map.
func refTo(owner *corev1.ConfigMap, blocks ...bool) metav1.OwnerReference {
	block := len(blocks) > 0
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &block}
}

func (b *bench) create(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return b.createIn("default", name, owners...)
}

func (b *bench) createIn(namespace, name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	created, err := b.client.In(namespace).ConfigMaps().Create(b.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}})
	require.NoError(b.t, err)
	return created
}

func (b *bench) delete(name string, policy metav1.DeletionPropagation) {
	require.NoError(b.t, b.client.ConfigMaps().Delete(b.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

func (b *bench) hold(name string, finalizers string) {
	_, err := b.client.ConfigMaps().Patch(b.t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`))
	require.NoError(b.t, err)
}

// left returns the config maps, with their owners.
func (b *bench) left() (names []string) {
	list, err := b.client.ConfigMaps().Everywhere().List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	for _, item := range list.Items {
		name := item.Name
		for _, owner := range item.OwnerReferences {
			name += "<" + owner.Name
		}
		names = append(names, name)
	}
	return names
}

func TestWhatHasLostItsOwnerIsDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		a := b.create("a")
		child := b.create("child", refTo(a))
		b.create("grandchild", refTo(child, blocking))
		other := b.create("other")
		b.create("of-both", refTo(a), refTo(other))
		b.settle()
		assert.Equal(t, []string{"a", "child<a", "grandchild<child", "of-both<a<other", "other"}, b.left())
		b.delete("a", metav1.DeletePropagationBackground)
		b.settle()
		assert.Equal(t, []string{"of-both<other", "other"}, b.left())
	})
}

func TestObjectsOfOtherServersAreFollowedButNotWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		isMap := func(r metav1.APIResource) bool { return r.Name == "configmaps" }
		ours := slices.DeleteFunc(slices.Clone(b.Resources()), isMap)
		others := append(slices.DeleteFunc(slices.Clone(b.Resources()), func(r metav1.APIResource) bool { return !isMap(r) }),
			metav1.APIResource{Group: "example.com", Version: "v1", Name: "things", Kind: "Thing", Verbs: metav1.Verbs{"delete", "list"}}) // its server is away
		require.Len(t, others, 2)
		gc := NewGarbageCollector(controller.Config{Client: b.Client(t, "collector"), Recorder: b, Resources: func() []metav1.APIResource { return ours }, Others: func() ([]metav1.APIResource, []schema.GroupVersion) { return others, nil }})
		servertest.Run(t, func(ctx context.Context) { gc.Run(ctx, 2) })
		a := b.create("a")
		b.create("child", refTo(a))
		b.settle()
		b.delete("a", metav1.DeletePropagationBackground)
		b.settle()
		assert.Empty(t, b.left())
		a = b.create("a")
		b.create("child", refTo(a))
		b.settle()
		b.delete("a", metav1.DeletePropagationOrphan)
		b.settle()
		assert.Equal(t, []string{"child"}, b.left())
	})
}

// runWithOthers runs a collector to which another server has the config maps, while it says so.
func (b *bench) runWithOthers(says func() bool) *GarbageCollector {
	isMap := func(r metav1.APIResource) bool { return r.Name == "configmaps" }
	all := b.Resources()
	ours := slices.DeleteFunc(slices.Clone(all), isMap)
	others := []metav1.APIResource{all[slices.IndexFunc(all, isMap)]}
	gc := NewGarbageCollector(controller.Config{Client: b.Client(b.t, "collector"), Recorder: b, Resources: func() []metav1.APIResource { return ours },
		Others: func() ([]metav1.APIResource, []schema.GroupVersion) {
			if !says() {
				return nil, []schema.GroupVersion{{Version: "v1"}}
			}
			return others, nil
		}})
	servertest.Run(b.t, func(ctx context.Context) { gc.Run(ctx, 2) })
	return gc
}

// refuse answers the collector's lists of config maps with a status, for a while.
func (b *bench) refuse(status int, during time.Duration) {
	end := time.Now().Add(during)
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.UserAgent() != "collector" || !strings.HasSuffix(req.URL.Path, "/configmaps") || time.Now().After(end) {
			next.ServeHTTP(w, req)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d}`, status)
	})
}

func TestAnOwnerThatLeavesOrphansWaitsAWhileUntilTheyCanBeListed(t *testing.T) {
	released, left := []string{"child"}, []string{"child<owner"}
	for name, row := range map[string]struct {
		isOurs          bool
		status          int // of lists
		during          time.Duration
		discoveredAfter time.Duration
		left            []string
	}{
		"another server starts":                   {false, 503, 2 * time.Second, 0, released},
		"another server never lists":              {false, 503, time.Hour, 0, left},
		"another server cannot list":              {false, 405, time.Hour, 0, left},
		"another server has not said what it has": {false, 200, 0, 2 * time.Second, released},
		"another server never says what it has":   {false, 200, 0, 3 * time.Minute, left},
		"a resource changes":                      {true, 404, time.Second / 2, 0, released},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				owner, err := b.client.Secrets().Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "owner"}})
				require.NoError(t, err)
				b.create("child", metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: owner.Name, UID: owner.UID})
				if row.isOurs {
					b.run()
					b.settle()
				}
				b.refuse(row.status, row.during)
				if !row.isOurs {
					known := time.Now().Add(row.discoveredAfter)
					b.runWithOthers(func() bool { return !time.Now().Before(known) })
				}
				orphan := metav1.DeletePropagationOrphan
				require.NoError(t, b.client.Secrets().Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &orphan}))
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				_, err = b.client.Secrets().Get(t.Context(), "owner")
				assert.True(t, apierrors.IsNotFound(err), "the owner is gone")
				assert.Equal(t, row.left, b.left())
			})
		})
	}
}

func TestAResourceThatIsGoneHasNoMoreObjects(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		var isAway atomic.Bool
		gc := b.runWithOthers(func() bool { return !isAway.Load() })
		owner := b.create("owner")
		b.settle()
		of := gc.ofKind(kindOf(refTo(owner)))
		isAway.Store(true)
		b.settle()
		assert.Nil(t, gc.graph.get(owner.UID))
		of.Set(&metav1.PartialObjectMetadata{ObjectMeta: owner.ObjectMeta}, "") // by its reflector, which ends
		assert.Nil(t, gc.graph.get(owner.UID))
	})
}

func TestOwnersThatWereGoneBeforeTheStartAreGone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		a := b.create("a")
		b.create("child", refTo(a))
		b.delete("a", metav1.DeletePropagationBackground)
		again := b.create("a") // with another uid
		b.create("younger", refTo(again))
		b.run()
		b.settle()
		assert.Equal(t, []string{"a", "younger<a"}, b.left())
	})
}

func TestAnOwnerInTheForegroundGoesAfterWhatBlocksIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		a := b.create("a")
		child := b.create("child", refTo(a, blocking))
		b.create("grandchild", refTo(child, blocking))
		b.create("free", refTo(a))
		b.hold("free", `["example.com/hold"]`)
		b.hold("grandchild", `["example.com/hold"]`)
		b.delete("a", metav1.DeletePropagationForeground)
		b.settle()
		assert.Equal(t, []string{"a", "child<a", "free<a", "grandchild<child"}, b.left())
		b.hold("grandchild", `null`)
		b.settle()
		assert.Equal(t, []string{"free<a"}, b.left(), "it does not block")
	})
}

func TestDependentsThatAreOrphanedStay(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		a, other := b.create("a"), b.create("other")
		b.create("child", refTo(a, blocking))
		b.create("of-both", refTo(a), refTo(other))
		b.delete("a", metav1.DeletePropagationOrphan)
		b.settle()
		assert.Equal(t, []string{"child", "of-both<other", "other"}, b.left())
	})
}

// Like a replication controller of v1.
func TestTheDependentsOfAControllerAreOrphanedUnlessItIsSaid(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		controllers := b.client.ReplicationControllers()
		for _, name := range []string{"stay", "go"} {
			labels := map[string]string{"app": name}
			rc, err := controllers.Create(t.Context(), &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ReplicationControllerSpec{Selector: labels,
				Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}})
			require.NoError(t, err)
			b.create(name, metav1.OwnerReference{APIVersion: "v1", Kind: "ReplicationController", Name: name, UID: rc.UID})
		}
		require.NoError(t, controllers.Delete(t.Context(), "stay", metav1.DeleteOptions{}))
		background := metav1.DeletePropagationBackground
		require.NoError(t, controllers.Delete(t.Context(), "go", metav1.DeleteOptions{PropagationPolicy: &background}))
		b.settle()
		assert.Equal(t, []string{"stay"}, b.left())
		list, err := controllers.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		assert.Empty(t, list.Items)
	})
}

func TestACycleOfOwnersEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		a := b.create("a")
		second := b.create("b", refTo(a, blocking))
		_, err := b.client.ConfigMaps().Change(t.Context(), "a", func(object *corev1.ConfigMap) error {
			object.OwnerReferences = []metav1.OwnerReference{refTo(second, blocking)}
			return nil
		})
		require.NoError(t, err)
		b.settle()
		assert.Equal(t, []string{"a<b", "b<a"}, b.left(), "each is there")
		b.delete("a", metav1.DeletePropagationForeground)
		b.settle()
		assert.Empty(t, b.left())
	})
}

// The event is that of today's collector.
func TestAnOwnerInAnotherNamespaceIsNone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		a := b.create("a")
		b.settle()
		b.createIn("dev", "child", refTo(a))
		b.settle()
		assert.Equal(t, []string{"a"}, b.left())
		assert.Equal(t, []string{fmt.Sprintf(`ConfigMap child Warning OwnerRefInvalidNamespace: ownerRef [v1/ConfigMap, namespace: dev, name: a, uid: %s] does not exist in namespace "dev"`, a.UID)}, b.told)
	})
}

func TestWhatCannotBeLookedForIsThere(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		a := b.create("a")
		b.delete("a", metav1.DeletePropagationBackground)
		b.create("of-unknown", metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Gear", Name: "g", UID: "1"})
		_, err := b.client.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", OwnerReferences: []metav1.OwnerReference{refTo(a)}}})
		require.NoError(t, err)
		b.settle()
		assert.Equal(t, []string{"of-unknown<g"}, b.left())
		_, err = b.client.Nodes().Get(t.Context(), "n")
		assert.NoError(t, err, "a node cannot say in which namespace its owner is")
	})
}

func TestWhatIsLeftInANamespaceThatIsGoneIsDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		for _, id := range []string{"before", "after"} {
			_, err := b.Objects.Commit(storage.Create(&api.Any{Kind: "configmaps", ID: id, ObjectMeta: api.ObjectMeta{Namespace: "gone"}}))
			require.NoError(t, err)
			if id == "before" {
				b.run()
				b.settle()
			}
		}
		b.createIn("dev", "x")
		b.settle()
		assert.Equal(t, []string{"x"}, b.left())
		_, err := b.Objects.Commit(storage.Delete(api.Key{Kind: "namespaces", ID: "dev"}, storage.Present))
		require.NoError(t, err)
		b.settle()
		assert.Empty(t, b.left())
	})
}

// scenarios are what remains of an owner a, its dependents and what is not theirs, by the policy of its deletion.
var scenarios = map[metav1.DeletionPropagation][]string{
	metav1.DeletePropagationBackground: {"of-both<other", "other"},
	metav1.DeletePropagationForeground: {"of-both<other", "other"},
	metav1.DeletePropagationOrphan:     {"child", "grandchild<child", "of-both<other", "other"},
}

// Each request may be the last one before the collector is killed, or be lost.
func TestACollectorThatIsEndedAtAnyRequestLeavesNothingToItsSuccessor(t *testing.T) {
	t.Parallel()
	for policy, want := range scenarios {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			for requests := 1; ; requests++ {
				ended := false
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					a, other := b.create("a"), b.create("other")
					child := b.create("child", refTo(a, blocking))
					b.create("grandchild", refTo(child, blocking))
					b.create("of-both", refTo(a, blocking), refTo(other, blocking))
					b.delete("a", policy)
					var mu sync.Mutex
					sent := 0
					b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
						isOver := false
						if req.UserAgent() == "collector" && req.Method != "GET" || strings.Contains(req.URL.Path, "/configmaps/") && req.UserAgent() == "collector" {
							mu.Lock()
							sent++
							isOver = sent > requests
							mu.Unlock()
						}
						if isOver {
							http.Error(w, "it is over", http.StatusServiceUnavailable)
							return
						}
						next.ServeHTTP(w, req)
					})
					stop := b.run()
					b.settle()
					stop()
					b.Intercept(nil)
					ended = slices.Equal(want, b.left())
					b.run()
					b.settle()
					assert.Equal(t, want, b.left(), requests)
				})
				if ended {
					assert.Greater(t, requests, 3)
					return
				}
			}
		})
	}
}

func TestTwoCollectorsDoNoHarm(t *testing.T) {
	t.Parallel()
	for policy, want := range scenarios {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.run()
			b.run()
			a, other := b.create("a"), b.create("other")
			child := b.create("child", refTo(a, blocking))
			b.create("grandchild", refTo(child, blocking))
			b.create("of-both", refTo(a, blocking), refTo(other, blocking))
			b.delete("a", policy)
			b.settle()
			assert.Equal(t, want, b.left())
		})
	}
}

func TestAForegroundDeletionThatIsChangedToTheBackgroundDoesNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		a := b.create("a")
		b.create("child", refTo(a, blocking))
		b.hold("child", `["example.com/hold"]`)
		b.delete("a", metav1.DeletePropagationForeground)
		b.run()
		b.settle()
		assert.Equal(t, []string{"a", "child<a"}, b.left())
		b.delete("a", metav1.DeletePropagationBackground)
		b.settle()
		assert.Equal(t, []string{"child<a"}, b.left())
		_, err := b.client.ConfigMaps().Get(t.Context(), "a")
		assert.True(t, apierrors.IsNotFound(err))
	})
}
