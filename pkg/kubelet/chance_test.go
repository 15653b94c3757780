package kubelet_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// faults refuses requests of a kubelet, or loses the answers to them, as a source of chance says.
type faults struct {
	mu     sync.Mutex // guards what follows
	chance *rand.Rand
	on     bool
}

func (f *faults) roll() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.on {
		return -1
	}
	return f.chance.IntN(8)
}

func (f *faults) turn(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = on
}

func (f *faults) between(w http.ResponseWriter, req *http.Request, next http.Handler) {
	if req.UserAgent() != "kubelet" || req.URL.Query().Get("watch") != "" {
		next.ServeHTTP(w, req)
		return
	}
	switch f.roll() {
	case 0:
		panic(http.ErrAbortHandler) // it was not made
	case 1:
		next.ServeHTTP(httptest.NewRecorder(), req)
		panic(http.ErrAbortHandler) // it was made, and nobody heard of it
	case 2:
		http.Error(w, "busy", http.StatusServiceUnavailable)
	default:
		next.ServeHTTP(w, req)
	}
}

// What is there at the end runs and says so, and nothing else does, whatever came between.
func TestAfterAnyFaultsWhatRunsIsWhatIsThere(t *testing.T) {
	t.Parallel()
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				chance := rand.New(rand.NewPCG(2014, seed)) // no secret
				c := startKubelet(t)
				f := &faults{chance: rand.New(rand.NewPCG(2015, seed)), on: true}
				c.Intercept(f.between)
				for range 120 {
					c.step(chance)
				}
				f.turn(false)
				c.settle()
			})
		})
	}
}

// step lets something happen.
func (c *cluster) step(chance *rand.Rand) {
	name := fmt.Sprintf("pod-%d", chance.IntN(6))
	ctx := c.t.Context()
	var err error
	switch chance.IntN(9) {
	case 0, 1, 2:
		changes := []func(*corev1.Pod){withPort, told("stop-after", fmt.Sprintf("%ds", chance.IntN(10)))}
		if chance.IntN(4) == 0 {
			changes = append(changes, told("exit-after", fmt.Sprintf("%ds", 1+chance.IntN(20))), told("exit-code", "1"))
		}
		_, err = c.client.Pods().Create(ctx, makePod(name, changes...))
	case 3, 4:
		err = c.client.Pods().Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(chance.IntN(8)))})
	case 5:
		_, err = c.client.Pods().Change(ctx, name, func(pod *corev1.Pod) error {
			pod.Spec.Containers[0].Image = fmt.Sprintf("nginx:%d", chance.IntN(100))
			return nil
		})
	case 6:
		c.Stop()
		time.Sleep(time.Duration(chance.IntN(20_000)) * time.Millisecond)
		c.Restart()
	case 7:
		if chance.IntN(3) == 0 {
			c.stop()
			c.start()
		}
	case 8:
		time.Sleep(time.Duration(chance.IntN(10_000)) * time.Millisecond)
	}
	if !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		require.NoError(c.t, err)
	}
	time.Sleep(time.Duration(chance.IntN(1000)) * time.Millisecond)
}

// settle waits, and checks that all is as it should be. A pod that crashes is one that waits, or runs for a while.
func (c *cluster) settle() {
	pass(7 * time.Minute)
	list, err := c.client.Pods().List(c.t.Context(), metav1.ListOptions{})
	require.NoError(c.t, err)
	answers := map[string]string{}
	for i := range 20 {
		address := fmt.Sprintf("127.1.2.%d:80", i+1)
		if text := c.ask(address); text != "nobody listens" {
			answers[address] = text
		}
	}
	for _, pod := range list.Items {
		assert.Nil(c.t, pod.DeletionTimestamp, "%s has ended", pod.Name)
		assert.Equal(c.t, corev1.PodRunning, pod.Status.Phase, pod.Name)
		at := pod.Status.PodIP + ":80"
		text, answered := answers[at]
		delete(answers, at)
		if pod.Status.ContainerStatuses[0].State.Running != nil {
			assert.Equal(c.t, pod.Name+" on 127.0.0.2 (web)\n", text)
			assert.Equal(c.t, pod.Spec.Containers[0].Image, pod.Status.ContainerStatuses[0].Image)
		} else {
			assert.False(c.t, answered, "%s waits", pod.Name)
		}
		_, crashes := pod.Annotations["hollow.kube2014/exit-after"]
		assert.True(c.t, crashes || pod.Status.ContainerStatuses[0].Ready, pod.Name)
	}
	assert.Empty(c.t, answers, "nothing else runs")
}
