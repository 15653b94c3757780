package replication_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sharedRandom may be used by several goroutines.
type sharedRandom struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newSharedRandom(seed, stream uint64) *sharedRandom {
	return &sharedRandom{random: rand.New(rand.NewPCG(seed, stream))}
}

func (r *sharedRandom) IntN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(n)
}

func (r *sharedRandom) milliseconds(most int) time.Duration {
	return time.Duration(r.IntN(most)) * time.Millisecond
}

// randomFaults lets one of four requests of the manager go wrong. A request whose sender has given
// up is not served any more: that one may come late is more than can be promised.
func randomFaults(random *sharedRandom) func(w http.ResponseWriter, req *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.UserAgent() == "test" {
			next.ServeHTTP(w, req)
			return
		}
		if isReplicationWatch(req) && random.IntN(2) == 0 { // the copy is late, by more and more
			w = heldWriter{w, func() { time.Sleep(random.milliseconds(500)) }}
		}
		switch random.IntN(20) {
		case 0:
			loseReplicationAnswer(req, next)
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			refuseRequest(w, http.StatusInternalServerError, "InternalError", "by chance")
		case 3:
			refuseRequest(w, http.StatusForbidden, "Forbidden", "by chance")
		case 4:
			body, err := io.ReadAll(req.Body) // after that the server sees when the sender goes
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			time.Sleep(random.milliseconds(3000))
			if req.Context().Err() != nil {
				panic(http.ErrAbortHandler)
			}
		}
		next.ServeHTTP(w, req)
	}
}

// disturb does something at random to a controller's pods, to how many it wants, or to the server.
func (b *replicationBench) disturb(random *sharedRandom) {
	pods := b.pods()
	pick := func() *corev1.Pod { return pods[random.IntN(len(pods))] }
	switch action := random.IntN(10); {
	case action < 2:
		b.scale("web", int32(random.IntN(8)))
	case action == 2:
		b.Stop()
		time.Sleep(random.milliseconds(3000))
		b.Restart()
	case len(pods) == 0 || action < 4:
		time.Sleep(random.milliseconds(5000))
	case action < 7: // it may be gone: so be it
		_ = b.client.Pods().Delete(b.t.Context(), pick().Name, metav1.DeleteOptions{})
	case action == 7:
		pod := pick()
		pod.Status.Phase = corev1.PodFailed
		_, _ = b.client.Pods().UpdateStatus(b.t.Context(), pod)
	case action == 8:
		pod := pick()
		pod.Labels = map[string]string{"released": "yes"}
		_, _ = b.client.Pods().Update(b.t.Context(), pod)
	case action == 9:
		pod := pick()
		if pod.Status.Phase == corev1.PodFailed { // that is for good
			return
		}
		ready(&pod.Status)
		_, _ = b.client.Pods().UpdateStatus(b.t.Context(), pod)
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
				random := newSharedRandom(seed, 1)
				b.Intercept(randomFaults(newSharedRandom(seed, 2)))
				b.create("web", 5)
				stop := b.run()
				for range 150 {
					if random.IntN(15) == 0 {
						stop()
						synctest.Wait() // the server has done what it was asked
						stop = b.run()
					}
					b.disturb(random)
					time.Sleep(random.milliseconds(300))
				}
				b.Intercept(nil)
				b.settle(15 * time.Minute)

				rc := b.get("web")
				counts := b.requireNeverTooMany("web")
				assert.Equal(t, int(*rc.Spec.Replicas), counts[len(counts)-1])
				assert.Equal(t, *rc.Spec.Replicas, rc.Status.Replicas)
				for _, pod := range b.pods() {
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
