package resourcequota

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/master/servertest"
)

// bench is a server in a synctest bubble.
type bench struct {
	*servertest.Server
	t         *testing.T
	client    *clientv1.Client
	resources atomic.Pointer[func() []metav1.APIResource]
}

func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		b := &bench{Server: server, t: t, client: server.Client(t, "test")}
		b.resources.Store(&server.Resources)
		test(t, b)
	})
}

// run runs a controller until the function that it returns is called.
func (b *bench) run() (stop func()) {
	c := NewResourceQuotaController(controller.Config{Client: b.Client(b.t, "controller"), Resources: func() []metav1.APIResource { return (*b.resources.Load())() }})
	return servertest.Run(b.t, func(ctx context.Context) { c.Run(ctx, 2) })
}

func (b *bench) settle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// limit creates a quota. Hard has names and values by turns.
func (b *bench) limit(name string, scopes []corev1.ResourceQuotaScope, hard ...string) {
	list := corev1.ResourceList{}
	for i := 0; i < len(hard); i += 2 {
		list[corev1.ResourceName(hard[i])] = resource.MustParse(hard[i+1])
	}
	_, err := b.client.ResourceQuotas().Create(b.t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: list, Scopes: scopes}})
	require.NoError(b.t, err)
}

// used returns what is used of a quota, and that its limits are in its status.
func (b *bench) used(name string) map[string]string {
	quota, err := b.client.ResourceQuotas().Get(b.t.Context(), name)
	require.NoError(b.t, err)
	assert.Equal(b.t, quota.Spec.Hard, quota.Status.Hard)
	all := map[string]string{}
	for name, quantity := range quota.Status.Used {
		all[string(name)] = quantity.String()
	}
	return all
}

func (b *bench) create(name string, deadline *int64) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{ActiveDeadlineSeconds: deadline, Containers: []corev1.Container{{Name: "c", Image: "i",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("300m")}}}}}}
	_, err := b.client.Pods().Create(b.t.Context(), pod)
	require.NoError(b.t, err)
}

func (b *bench) config(name string) {
	_, err := b.client.ConfigMaps().Create(b.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}})
	require.NoError(b.t, err)
}

func TestWhatIsUsedIsCountedWhenAQuotaIsCreatedOrChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		deadline := int64(5)
		b.create("a", nil)
		b.create("b", &deadline)
		b.config("x")
		b.limit("before", nil, "pods", "5", "configmaps", "5", "services.nodeports", "3", "requests.storage", "1Gi", "count/unknown.example.com", "1", "count/events", "1")
		b.run()
		b.settle()
		assert.Equal(t, map[string]string{"pods": "2", "configmaps": "1", "services.nodeports": "0", "requests.storage": "0"}, b.used("before"), "as today's server tells it")
		b.limit("cpu", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}, "requests.cpu", "1")
		b.settle()
		assert.Equal(t, map[string]string{"requests.cpu": "300m"}, b.used("cpu"), "of the pods in its scope")
		_, err := b.client.ResourceQuotas().Patch(t.Context(), "cpu", types.MergePatchType, []byte(`{"spec":{"hard":{"pods":"1","requests.cpu":null}}}`))
		require.NoError(t, err)
		b.settle()
		assert.Equal(t, map[string]string{"pods": "1"}, b.used("cpu"))
	})
}

func TestWhatIsUsedIsCountedAgainAfterDeletionsAndEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.limit("q", nil, "pods", "5", "count/pods", "5", "count/configmaps", "5")
		stop := b.run()
		for _, name := range []string{"a", "b", "c"} {
			b.create(name, nil)
			b.config(name)
		}
		b.settle()
		assert.Equal(t, map[string]string{"pods": "3", "count/pods": "3", "count/configmaps": "3"}, b.used("q"))
		require.NoError(t, b.client.ConfigMaps().Delete(t.Context(), "a", metav1.DeleteOptions{}))
		require.NoError(t, b.client.Pods().Delete(t.Context(), "a", metav1.DeleteOptions{}))
		_, err := b.client.Pods().Patch(t.Context(), "b", types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), "status")
		require.NoError(t, err)
		b.settle()
		assert.Equal(t, map[string]string{"pods": "1", "count/pods": "2", "count/configmaps": "2"}, b.used("q"))

		stop()
		b.create("d", nil)
		b.run()
		b.settle()
		assert.Equal(t, "2", b.used("q")["pods"], "it was created while no controller ran")
	})
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.limit("q", nil, "pods", "5", "resourcequotas", "5")
		b.run()
		b.run()
		b.settle()
		var writes atomic.Int64
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method != http.MethodGet && strings.HasSuffix(req.URL.Path, "/status") {
				writes.Add(1)
			}
			next.ServeHTTP(w, req)
		})
		time.Sleep(time.Hour)
		assert.Zero(t, writes.Load())
		b.config("x")
		b.settle()
		assert.Zero(t, writes.Load(), "no quota limits it")
		b.create("x", nil)
		b.settle()
		assert.Equal(t, "1", b.used("q")["pods"])
		assert.LessOrEqual(t, writes.Load(), int64(4), "two controllers may write at once; one succeeds")
	})
}

// What is created between the count and the write makes the write fail.
func TestWhatChangesWhileItIsCountedIsCountedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.limit("q", nil, "pods", "5")
		var once atomic.Bool
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if strings.HasSuffix(req.URL.Path, "/q/status") && once.CompareAndSwap(false, true) {
				b.create("x", nil)
				_, err := b.client.ResourceQuotas().Patch(context.Background(), "q", types.MergePatchType, []byte(`{"status":{"used":{"pods":"1"}}}`), "status")
				assert.NoError(t, err)
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.settle()
		assert.True(t, once.Load())
		assert.Equal(t, map[string]string{"pods": "1"}, b.used("q"))
	})
}

func TestAKindThatComesAndGoesIsCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		all := b.Server.Resources
		none := func() []metav1.APIResource { return nil }
		b.resources.Store(&none)
		b.config("x")
		b.limit("q", nil, "count/configmaps", "5")
		b.run()
		b.settle()
		assert.Empty(t, b.used("q"))
		b.resources.Store(&all)
		b.settle()
		assert.Equal(t, map[string]string{"count/configmaps": "1"}, b.used("q"))
		b.resources.Store(&none)
		b.settle()
		assert.Empty(t, b.used("q"))
	})
}
