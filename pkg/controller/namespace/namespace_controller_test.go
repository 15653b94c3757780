package namespace

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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

	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/master/servertest"
)

// bench is a server with a namespace dev, in a synctest bubble.
type bench struct {
	*servertest.Server
	t      *testing.T
	client *clientv1.Client
	others func() ([]metav1.APIResource, []schema.GroupVersion)
}

func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		b := &bench{Server: server, t: t, client: server.Client(t, "test")}
		b.create("dev")
		test(t, b)
	})
}

func (b *bench) create(name string) {
	_, err := b.client.Namespaces().Create(b.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	require.NoError(b.t, err)
}

// fill creates an object x of several kinds in a namespace.
func (b *bench) fill(namespace string, finalizers ...string) {
	in, meta := b.client.In(namespace), metav1.ObjectMeta{Name: "x", Finalizers: finalizers}
	_, err := in.Pods().Create(b.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
	require.NoError(b.t, err)
	_, err = in.ConfigMaps().Create(b.t.Context(), &corev1.ConfigMap{ObjectMeta: meta})
	require.NoError(b.t, err)
	_, err = in.Services().Create(b.t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	require.NoError(b.t, err)
}

// run runs a controller until the function that it returns is called.
func (b *bench) run() (stop func()) {
	client := b.Client(b.t, "controller")
	objects := informers.New(client, 0)
	n := NewNamespaceController(Config{Client: client, Informers: objects, Resources: b.Resources, Others: b.others})
	return servertest.Run(b.t, func(ctx context.Context) {
		objects.Run(ctx)
		n.Run(ctx, 2)
	})
}

func (b *bench) settle() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func (b *bench) delete(name string) {
	require.NoError(b.t, b.client.Namespaces().Delete(b.t.Context(), name, metav1.DeleteOptions{}))
}

// left returns the number of objects in a namespace.
func (b *bench) left(namespace string) (n int) {
	for _, resource := range b.Resources() {
		if resource.Namespaced {
			at := clientv1.ResourceOf(resource)
			list, err := b.client.In(namespace).Metadata(at).List(b.t.Context(), metav1.ListOptions{})
			require.NoError(b.t, err)
			n += len(list.Items)
		}
	}
	return n
}

func (b *bench) isGone(name string) bool {
	_, err := b.client.Namespaces().Get(b.t.Context(), name)
	return apierrors.IsNotFound(err)
}

func TestADeletedNamespaceTakesAllWithIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		b.fill("default")
		b.fill("dev")
		b.settle()
		assert.Equal(t, 3, b.left("dev"))
		b.delete("dev")
		b.settle()
		assert.True(t, b.isGone("dev"))
		assert.Zero(t, b.left("dev"))
		assert.Equal(t, 3, b.left("default"))
		b.create("dev")
		assert.Zero(t, b.left("dev"))
	})
}

func TestANamespaceThatWasDeletedBeforeTheStartIsEmptied(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.fill("dev")
		b.delete("dev")
		b.settle()
		assert.False(t, b.isGone("dev"))
		b.run()
		b.settle()
		assert.True(t, b.isGone("dev"))
		assert.Zero(t, b.left("dev"))
	})
}

func TestNothingIsCreatedInANamespaceThatEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.delete("dev")
		_, err := b.client.In("dev").ConfigMaps().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
		assert.True(t, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), err)
		assert.EqualError(t, err, `configmaps "late" is forbidden: unable to create new content in namespace dev because it is being terminated`)
		_, err = b.client.In("nope").ConfigMaps().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
		assert.EqualError(t, err, `namespaces "nope" not found`)
	})
}

func (b *bench) conditions(name string) map[corev1.NamespaceConditionType]string {
	namespace, err := b.client.Namespaces().Get(b.t.Context(), name)
	require.NoError(b.t, err)
	all := map[corev1.NamespaceConditionType]string{}
	for _, condition := range namespace.Status.Conditions {
		all[condition.Type] = string(condition.Status) + " " + condition.Reason + ": " + condition.Message
	}
	return all
}

// The words are those of today's controller.
func TestTheConditionsSayWhatIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		b.fill("dev", "example.com/hold")
		b.delete("dev")
		b.settle()
		assert.Equal(t, 1, b.left("dev"))
		assert.Equal(t, map[corev1.NamespaceConditionType]string{
			corev1.NamespaceDeletionDiscoveryFailure: "False ResourcesDiscovered: All resources successfully discovered",
			corev1.NamespaceDeletionGVParsingFailure: "False ParsedGroupVersions: All legacy kube types successfully parsed",
			corev1.NamespaceDeletionContentFailure:   "False ContentDeleted: All content successfully deleted, may be waiting on finalization",
			corev1.NamespaceContentRemaining:         "True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
			corev1.NamespaceFinalizersRemaining:      "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
		}, b.conditions("dev"))
		before := version(b)
		b.settle()
		assert.Equal(t, before, version(b), "it writes only what has changed")
		_, err := b.client.In("dev").ConfigMaps().Patch(t.Context(), "x", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		require.NoError(t, err)
		b.settle()
		assert.True(t, b.isGone("dev"))
	})
}

func TestANamespaceWaitsForServersThatDoNotSayWhatIsInIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		things := metav1.APIResource{Group: "example.com", Version: "v1", Name: "things", Kind: "Thing", Namespaced: true, Verbs: metav1.Verbs{"delete", "list"}}
		stale := atomic.Bool{}
		stale.Store(true)
		b.others = func() ([]metav1.APIResource, []schema.GroupVersion) {
			if stale.Load() {
				return []metav1.APIResource{things}, []schema.GroupVersion{{Group: "example.com", Version: "v1"}}
			}
			return []metav1.APIResource{things}, nil
		}
		b.run()
		b.fill("dev")
		b.delete("dev")
		b.settle()
		assert.Zero(t, b.left("dev"), "what is known goes")
		assert.Equal(t, "True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: example.com/v1: stale GroupVersion discovery: example.com/v1",
			b.conditions("dev")[corev1.NamespaceDeletionDiscoveryFailure])
		stale.Store(false)
		b.settle()
		assert.True(t, b.isGone("dev"))
	})
}

func TestANamespaceThatEndsWithoutAHitchSaysSoInAllConditions(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		var mu sync.Mutex
		var reported string
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/finalize") {
				recorder := httptest.NewRecorder()
				next.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/dev", nil))
				mu.Lock()
				reported = recorder.Body.String()
				mu.Unlock()
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.fill("dev")
		b.delete("dev")
		b.settle()
		require.True(t, b.isGone("dev"))
		mu.Lock()
		defer mu.Unlock()
		var last corev1.Namespace
		require.NoError(t, json.Unmarshal([]byte(reported), &last))
		require.Len(t, last.Status.Conditions, 5)
		for _, condition := range last.Status.Conditions {
			assert.Equal(t, corev1.ConditionFalse, condition.Status, condition.Type)
		}
	})
}

func version(b *bench) uint64 {
	version, err := b.Objects.Version()
	require.NoError(b.t, err)
	return version
}

func TestPodsGoFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.fill("dev")
		_, err := b.client.In("dev").Pods().Patch(t.Context(), "x", types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`))
		require.NoError(t, err)
		b.run()
		b.delete("dev")
		b.settle()
		assert.Equal(t, 3, b.left("dev"), "the others are still there")
		assert.Equal(t, "True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances", b.conditions("dev")[corev1.NamespaceContentRemaining])
		_, err = b.client.In("dev").Pods().Patch(t.Context(), "x", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		require.NoError(t, err)
		b.settle()
		assert.True(t, b.isGone("dev"))
	})
}

func TestOtherFinalizersHoldAnEmptyNamespace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		namespace, err := b.client.Namespaces().Get(t.Context(), "dev")
		require.NoError(t, err)
		namespace.Spec.Finalizers = append(namespace.Spec.Finalizers, "example.com/hold")
		_, err = b.client.Namespaces().Finalize(t.Context(), namespace)
		require.NoError(t, err)
		b.fill("dev")
		b.delete("dev")
		b.settle()
		namespace, err = b.client.Namespaces().Get(t.Context(), "dev")
		require.NoError(t, err)
		assert.Equal(t, []corev1.FinalizerName{"example.com/hold"}, namespace.Spec.Finalizers)
		assert.Equal(t, "False ContentRemoved: All content successfully removed", b.conditions("dev")[corev1.NamespaceContentRemaining])
		assert.Zero(t, b.left("dev"))
		namespace.Spec.Finalizers = nil
		_, err = b.client.Namespaces().Finalize(t.Context(), namespace)
		require.NoError(t, err)
		assert.True(t, b.isGone("dev"))
	})
}

func TestANamespaceWithOnlyOtherFinalizersIsEmptied(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		namespace, err := b.client.Namespaces().Get(t.Context(), "dev")
		require.NoError(t, err)
		namespace.Spec.Finalizers = []corev1.FinalizerName{"example.com/hold"}
		_, err = b.client.Namespaces().Finalize(t.Context(), namespace)
		require.NoError(t, err)
		b.fill("dev")
		b.delete("dev")
		b.settle()
		assert.Zero(t, b.left("dev"))
		assert.Equal(t, "False ContentRemoved: All content successfully removed", b.conditions("dev")[corev1.NamespaceContentRemaining])
	})
}

// Each request may be the last one before the controller is killed, or be lost.
func TestAControllerThatIsEndedAtAnyRequestLeavesNothingToItsSuccessor(t *testing.T) {
	t.Parallel()
	for requests := 0; ; requests++ {
		ended := false
		synctest.Test(t, func(t *testing.T) {
			server := servertest.Start(t)
			b := &bench{Server: server, t: t, client: server.Client(t, "test")}
			b.create("dev")
			b.fill("dev")
			b.fill("default")
			b.delete("dev")
			var mu sync.Mutex
			sent := 0
			b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
				if req.UserAgent() == "controller" && !strings.Contains(req.URL.RawQuery, "watch") {
					mu.Lock()
					sent++
					isOver := sent > requests
					mu.Unlock()
					if isOver {
						http.Error(w, "it is over", http.StatusServiceUnavailable)
						return
					}
				}
				next.ServeHTTP(w, req)
			})
			stop := b.run()
			b.settle()
			stop()
			b.Intercept(nil)
			ended = b.isGone("dev")
			b.run()
			b.settle()
			assert.True(t, b.isGone("dev"), requests)
			assert.Zero(t, b.left("dev"), requests)
			assert.Equal(t, 3, b.left("default"), requests)
		})
		if ended {
			assert.Greater(t, requests, 10)
			return
		}
	}
}

func TestTwoControllersDoTheWorkOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.run()
		b.run()
		for _, name := range []string{"a", "b", "c"} {
			b.create(name)
			b.fill(name)
			b.delete(name)
		}
		b.settle()
		for _, name := range []string{"a", "b", "c"} {
			assert.True(t, b.isGone(name))
		}
		assert.False(t, b.isGone("dev"))
	})
}

func TestObjectsThatCannotBeDeletedTogetherAreDeletedOneByOne(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method != http.MethodDelete || !strings.HasSuffix(req.URL.Path, "/configmaps") {
				next.ServeHTTP(w, req)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusMethodNotAllowed)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"MethodNotAllowed","code":405}`)
		})
		b.run()
		b.fill("dev")
		b.settle()
		b.delete("dev")
		b.settle()
		assert.Equal(t, []any{true, 0}, []any{b.isGone("dev"), b.left("dev")})
	})
}
