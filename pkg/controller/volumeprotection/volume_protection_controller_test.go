package volumeprotection

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "kube2014/pkg/api/v1"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/master/servertest"
)

const other = "kube2014.test/other" // a finalizer

// bench is a server with a live node m, in a synctest bubble.
type bench struct {
	*servertest.Server
	t       *testing.T
	pods    clientv1.Pods
	claims  clientv1.Resource[*corev1.PersistentVolumeClaim]
	volumes clientv1.Resource[*corev1.PersistentVolume]
}

// inBubble runs a test of a server with two of each controller.
func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	inBubbleWithout(t, func(t *testing.T, b *bench) {
		b.run()
		b.run()
		test(t, b)
	})
}

// inBubbleWithout is inBubble without controllers.
func inBubbleWithout(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		c := server.Client(t, "test")
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
		_, err := c.Nodes().Create(t.Context(), node)
		require.NoError(t, err)
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Time{Time: time.Now().Add(time.Hour)}}}
		_, err = c.Nodes().UpdateStatus(t.Context(), node) // so that its pods take their time to end
		require.NoError(t, err)
		test(t, &bench{server, t, c.Pods(), c.PersistentVolumeClaims(), c.PersistentVolumes()})
	})
}

// run runs the controllers.
func (b *bench) run() {
	config := controller.Config{Client: b.Client(b.t, "controller")}
	claims, volumes, classes := NewClaimController(config), NewVolumeController(config), NewClassController(config)
	servertest.Run(b.t, func(ctx context.Context) { claims.Run(ctx, 2) })
	servertest.Run(b.t, func(ctx context.Context) { volumes.Run(ctx, 2) })
	servertest.Run(b.t, func(ctx context.Context) { classes.Run(ctx, 2) })
}

// settle waits as long as the controllers pause at most.
func (b *bench) settle() {
	time.Sleep(maxPause + time.Second)
	synctest.Wait()
}

func (b *bench) createClaim(meta metav1.ObjectMeta) {
	_, err := b.claims.Create(b.t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}})
	require.NoError(b.t, err)
	b.settle()
}

func (b *bench) deleteClaim(name string) {
	require.NoError(b.t, b.claims.Delete(b.t.Context(), name, metav1.DeleteOptions{}))
	b.settle()
}

// createPod creates a pod with a volume data, on a node or on none.
func (b *bench) createPod(meta metav1.ObjectMeta, node string, volume corev1.VolumeSource) *corev1.Pod {
	pod, err := b.pods.Create(b.t.Context(), &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: node,
		Containers: []corev1.Container{{Name: "c", Image: "i"}}, Volumes: []corev1.Volume{{Name: "data", VolumeSource: volume}}}})
	require.NoError(b.t, err)
	return pod
}

func (b *bench) deletePod(name string, seconds int64) {
	require.NoError(b.t, b.pods.Delete(b.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &seconds}))
	b.settle()
}

func ofClaim(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

func ownClaim() corev1.VolumeSource {
	return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}}}
}

// claimHas checks the finalizers of a claim; without any it must be gone.
func (b *bench) claimHas(name string, finalizers ...string) {
	b.t.Helper()
	claim, err := b.claims.Get(b.t.Context(), name)
	has(b.t, claim, err, finalizers)
}

func (b *bench) volumeHas(finalizers ...string) {
	b.t.Helper()
	volume, err := b.volumes.Get(b.t.Context(), "v")
	has(b.t, volume, err, finalizers)
}

func has(t *testing.T, object metav1.Object, err error, finalizers []string) {
	t.Helper()
	if len(finalizers) == 0 {
		assert.True(t, apierrors.IsNotFound(err), "it is gone: %v", err)
		return
	}
	require.NoError(t, err)
	assert.Equal(t, finalizers, object.GetFinalizers())
}

func TestADeletedClaimStaysWhileAPodUsesIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.createClaim(metav1.ObjectMeta{Name: "a"})
		b.createClaim(metav1.ObjectMeta{Name: "b"})
		b.createPod(metav1.ObjectMeta{Name: "x"}, "m", ofClaim("a"))
		b.createPod(metav1.ObjectMeta{Name: "y"}, "m", ofClaim("a"))
		b.deleteClaim("a")
		b.deleteClaim("b")
		b.claimHas("a", v1.ClaimFinalizer)
		b.claimHas("b")
		b.deletePod("x", 0)
		b.claimHas("a", v1.ClaimFinalizer)
		b.deletePod("y", 3600)
		b.claimHas("a", v1.ClaimFinalizer) // the pod still ends
		b.deletePod("y", 0)
		b.claimHas("a")
	})
}

func TestAPodThatHasEndedUsesItsClaimUntilItIsDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.createClaim(metav1.ObjectMeta{Name: "a"})
		pod := b.createPod(metav1.ObjectMeta{Name: "x"}, "m", ofClaim("a"))
		pod.Status.Phase = corev1.PodSucceeded
		_, err := b.pods.UpdateStatus(t.Context(), pod)
		require.NoError(t, err)
		b.deleteClaim("a")
		b.claimHas("a", v1.ClaimFinalizer)
		b.deletePod("x", 0)
		b.claimHas("a")
	})
}

func TestAPodWithoutANodeUsesNoClaim(t *testing.T) {
	inBubble(t, func(_ *testing.T, b *bench) {
		b.createClaim(metav1.ObjectMeta{Name: "a"})
		b.createPod(metav1.ObjectMeta{Name: "x"}, "", ofClaim("a"))
		b.deleteClaim("a")
		b.claimHas("a")
	})
}

func TestAClaimThatWasMadeForAPodIsFreeWhenThatIsShutDown(t *testing.T) {
	inBubble(t, func(_ *testing.T, b *bench) {
		pod := b.createPod(metav1.ObjectMeta{Name: "x", Finalizers: []string{other}}, "m", ownClaim())
		b.createPod(metav1.ObjectMeta{Name: "y"}, "m", ownClaim())
		b.createClaim(metav1.ObjectMeta{Name: "x-data", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))}})
		b.createClaim(metav1.ObjectMeta{Name: "y-data"})
		b.deleteClaim("x-data")
		b.deleteClaim("y-data")
		b.claimHas("x-data", v1.ClaimFinalizer)
		b.claimHas("y-data") // it was not made for the pod of that name
		b.deletePod("x", 3600)
		b.claimHas("x-data", v1.ClaimFinalizer)
		b.deletePod("x", 0)
		b.claimHas("x-data") // although the pod is still there, by its own finalizer
	})
}

func TestThePodsOfANamespaceAreListedOnceForAllItsClaims(t *testing.T) {
	inBubbleWithout(t, func(t *testing.T, b *bench) {
		names := strings.Fields("a b c d e f g h")
		for _, name := range names {
			b.createClaim(metav1.ObjectMeta{Name: name, Finalizers: []string{v1.ClaimFinalizer}})
			b.deleteClaim(name)
			b.claimHas(name, v1.ClaimFinalizer)
		}
		var lists atomic.Int32
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if strings.HasSuffix(req.URL.Path, "/pods") {
				lists.Add(1)
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.settle()
		for _, name := range names {
			b.claimHas(name)
		}
		assert.EqualValues(t, 1, lists.Load())
	})
}

func TestAClaimStaysWhileNobodyKnowsWhoUsesIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.createClaim(metav1.ObjectMeta{Name: "a"})
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if strings.HasSuffix(req.URL.Path, "/pods") {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, req)
		})
		b.deleteClaim("a")
		b.claimHas("a", v1.ClaimFinalizer)
		b.Intercept(nil)
		time.Sleep(time.Minute) // the longest pause after a failure
		b.settle()
		b.claimHas("a")
	})
}

func (b *bench) createVolume() {
	_, err := b.volumes.Create(b.t.Context(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", Finalizers: []string{other}}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp"}},
	}})
	require.NoError(b.t, err)
	b.settle()
}

func (b *bench) setPhase(phase corev1.PersistentVolumePhase) {
	volume, err := b.volumes.Get(b.t.Context(), "v")
	require.NoError(b.t, err)
	volume.Status.Phase = phase
	_, err = b.volumes.UpdateStatus(b.t.Context(), volume)
	require.NoError(b.t, err)
}

func TestADeletedVolumeStaysWhileAClaimIsBoundToIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.createVolume()
		b.setPhase(corev1.VolumeBound)
		require.NoError(t, b.volumes.Delete(t.Context(), "v", metav1.DeleteOptions{}))
		b.settle()
		b.volumeHas(other, v1.VolumeFinalizer)
		b.setPhase(corev1.VolumeReleased)
		b.settle()
		b.volumeHas(other)
	})
}

func TestAVolumeThatIsBoundInTheLastMomentStays(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.createVolume()
		var before sync.Once // any write of a controller
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.UserAgent() == "controller" && req.Method == http.MethodPut {
				before.Do(func() { b.setPhase(corev1.VolumeBound) })
			}
			next.ServeHTTP(w, req)
		})
		require.NoError(t, b.volumes.Delete(t.Context(), "v", metav1.DeleteOptions{}))
		b.settle()
		b.volumeHas(other, v1.VolumeFinalizer)
	})
}

func TestADeletedClassStaysWhileAVolumeOrAClaimNamesIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		classes := b.Client(t, "test").VolumeAttributesClasses()
		for _, name := range []string{"of-volume", "of-claim", "free"} {
			_, err := classes.Create(t.Context(), &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: name}, DriverName: "d", Parameters: map[string]string{"a": "b"}})
			require.NoError(t, err)
		}
		volume, err := b.volumes.Create(t.Context(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			VolumeAttributesClassName: new("of-volume"),
			PersistentVolumeSource:    corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}},
		}})
		require.NoError(t, err)
		b.createClaim(metav1.ObjectMeta{Name: "a"})
		claim, err := b.claims.Get(t.Context(), "a")
		require.NoError(t, err)
		claim.Status.CurrentVolumeAttributesClassName = new("of-claim")
		_, err = b.claims.UpdateStatus(t.Context(), claim)
		require.NoError(t, err)
		b.settle()
		left := func(want ...string) {
			t.Helper()
			var names []string
			for class, err := range classes.All(t.Context(), metav1.ListOptions{}) {
				require.NoError(t, err)
				assert.Equal(t, []string{v1.AttributesClassFinalizer}, class.Finalizers)
				names = append(names, class.Name)
			}
			assert.Equal(t, want, names)
		}
		left("free", "of-claim", "of-volume")
		for _, name := range []string{"of-volume", "of-claim", "free"} {
			require.NoError(t, classes.Delete(t.Context(), name, metav1.DeleteOptions{}))
		}
		b.settle()
		left("of-claim", "of-volume")
		b.deleteClaim("a")
		left("of-volume")
		require.NoError(t, b.volumes.Delete(t.Context(), volume.Name, metav1.DeleteOptions{}))
		b.settle()
		left()
	})
}

func TestWhatLacksTheFinalizerGetsItOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		var writes atomic.Int32
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.UserAgent() == "controller" && req.Method != http.MethodGet {
				writes.Add(1)
			}
			next.ServeHTTP(w, req)
		})
		b.createClaim(metav1.ObjectMeta{Name: "has", Finalizers: []string{v1.ClaimFinalizer}})
		assert.Zero(t, writes.Load())
		b.createVolume()
		b.createClaim(metav1.ObjectMeta{Name: "a", Finalizers: []string{other}})
		b.claimHas("a", other, v1.ClaimFinalizer)
		b.volumeHas(other, v1.VolumeFinalizer)
		written := writes.Load()
		_, err := b.claims.Change(t.Context(), "a", func(claim *corev1.PersistentVolumeClaim) error {
			claim.Labels = map[string]string{"a": "b"}
			return nil
		})
		require.NoError(t, err)
		b.settle()
		assert.Equal(t, written, writes.Load(), "it has the finalizer")
	})
}
