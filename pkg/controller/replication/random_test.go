package replication_test

import (
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/master/controllertest"
)

// disturb does something at random to a controller's pods, to how many it wants, or to the server.
func (b *replicationBench) disturb(random *controllertest.Random) {
	pods := b.Pods()
	pick := func() *corev1.Pod { return pods[random.IntN(len(pods))] }
	switch action := random.IntN(10); {
	case action < 2:
		b.scale("web", int32(random.IntN(8)))
	case action == 2:
		b.Stop()
		time.Sleep(random.Milliseconds(3000))
		b.Restart()
	case len(pods) == 0 || action < 4:
		time.Sleep(random.Milliseconds(5000))
	case action < 7: // it may be gone: so be it
		_ = b.API.Pods().Delete(b.T.Context(), pick().Name, metav1.DeleteOptions{})
	case action == 7:
		pod := pick()
		pod.Status.Phase = corev1.PodFailed
		_, _ = b.API.Pods().UpdateStatus(b.T.Context(), pod)
	case action == 8:
		pod := pick()
		pod.Labels = map[string]string{"released": "yes"}
		_, _ = b.API.Pods().Update(b.T.Context(), pod)
	case action == 9:
		pod := pick()
		if pod.Status.Phase == corev1.PodFailed { // that is for good
			return
		}
		controllertest.Ready(&pod.Status)
		_, _ = b.API.Pods().UpdateStatus(b.T.Context(), pod)
	}
}

// Whatever goes wrong, there are never more pods than wanted, and as many in the end. (K70)
//
// In which order goroutines run is chance, even with a seed: make histories runs it.
func TestThereAreNeverTooManyPodsWhateverGoesWrong(t *testing.T) {
	t.Parallel()
	const variable = "KUBE2014_HISTORIES"
	if os.Getenv(variable) == "" {
		t.Skip("make histories runs it: " + variable)
	}
	seeds, err := strconv.ParseUint(os.Getenv(variable), 10, 32)
	require.NoError(t, err, variable)
	for seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			withReplicationBench(t, func(t *testing.T, b *replicationBench) {
				random := controllertest.NewRandom(seed, 1)
				b.Intercept(controllertest.NewRandom(seed, 2).Faults(20))
				b.create("web", 5)
				stop := b.run()
				for range 150 {
					if random.IntN(15) == 0 {
						stop()
						synctest.Wait() // the server has done what it was asked
						stop = b.run()
					}
					b.disturb(random)
					time.Sleep(random.Milliseconds(300))
				}
				b.Intercept(nil)
				b.Settle(15 * time.Minute)

				rc := b.get("web")
				counts := b.requireNeverTooMany("web")
				assert.Equal(t, int(*rc.Spec.Replicas), counts[len(counts)-1])
				assert.Equal(t, *rc.Spec.Replicas, rc.Status.Replicas)
				for _, pod := range b.Pods() {
					if isActivePodOf(rc, pod) || pod.Status.Phase == corev1.PodFailed {
						continue
					}
					assert.Equal(t, "yes", pod.Labels["released"], pod.Name)
					assert.Empty(t, pod.OwnerReferences, pod.Name)
				}
			})
		})
	}
}
