package scheduler

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// interceptBindings lets a function see each binding; the first one has the number 1.
func (b *bench) interceptBindings(between func(number int64, w http.ResponseWriter, req *http.Request, next http.Handler)) *atomic.Int64 {
	var count atomic.Int64
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if strings.HasSuffix(req.URL.Path, "/binding") {
			between(count.Add(1), w, req, next)
			return
		}
		next.ServeHTTP(w, req)
	})
	return &count
}

// loseAnswer lets the server do what is asked, and cuts the connection then.
func loseAnswer(req *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), req)
	panic(http.ErrAbortHandler)
}

// requireNoOvercommit checks that no node has more CPU given away than it has, or a port twice.
func (b *bench) requireNoOvercommit() {
	nodes, err := b.client.Nodes().List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	c := newSchedulerCache()
	for _, node := range nodes.Items {
		c.setNode(node)
	}
	for _, pod := range b.list() {
		if pod.Spec.NodeName != "" {
			c.setPod(pod)
		}
	}
	for name, node := range c.nodes {
		if node.capacity.cpu != unlimited {
			require.LessOrEqual(b.t, node.requested.cpu, node.capacity.cpu, name)
		}
		for port, pods := range node.ports {
			require.Equal(b.t, 1, pods, "port %d of %s", port, name)
		}
	}
}

func TestAfterARestartNothingIsPlacedTwiceOrBeyondWhatThereIs(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		for n := range 5 {
			b.node(fmt.Sprint("n", n), having("1", ""))
		}
		for n := range 100 {
			b.pod(fmt.Sprint("p", n), requesting("100m", ""))
		}
		cut := make(chan struct{})
		var once sync.Once
		bindings := b.interceptBindings(func(number int64, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number >= 20 && number < 20+binders { // so that all binders pause
				once.Do(func() { close(cut) })
				loseAnswer(req, next)
			}
			next.ServeHTTP(w, req)
		})
		stop := b.run("")
		<-cut
		stop()
		settle(time.Second) // the server ends what it was asked
		require.Equal(t, 100-bindings.Load(), int64(b.places()[""]), "it was stopped in the middle")
		require.Less(t, bindings.Load(), int64(50))

		b.run("")
		settle(2 * time.Minute)
		assert.Equal(t, map[string]int{"": 50, "n0": 10, "n1": 10, "n2": 10, "n3": 10, "n4": 10}, b.places())
		b.requireNoOvercommit()
		assert.Equal(t, int64(50), bindings.Load(), "none is sent twice")
	})
}

func TestAServerThatIsAwayIsWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.node("n", having("10", ""))
		b.run("")
		b.pod("before", requesting("1", ""))
		settle(time.Second)
		away := make(chan struct{})
		var once sync.Once
		b.interceptBindings(func(_ int64, _ http.ResponseWriter, req *http.Request, next http.Handler) {
			once.Do(func() { close(away) })
			panic(http.ErrAbortHandler) // nothing was done
		})
		for n := range 20 {
			b.pod(fmt.Sprint("p", n), requesting("1", ""))
		}
		<-away
		b.Stop()
		settle(5 * time.Minute)
		b.Intercept(nil)
		b.Restart()
		settle(2 * time.Minute)
		assert.Equal(t, map[string]int{"": 11, "n": 10}, b.places())
	})
}

func TestALostAnswerOfABindingIsSettled(t *testing.T) {
	for _, test := range []struct {
		name string
		lose func(w http.ResponseWriter, req *http.Request, next http.Handler)
	}{
		{"it was done", func(_ http.ResponseWriter, req *http.Request, next http.Handler) { loseAnswer(req, next) }},
		{"it was not done", func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }},
		{"it was an error of the server", func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			next.ServeHTTP(httptest.NewRecorder(), req)
			http.Error(w, "bad gateway", http.StatusBadGateway)
		}},
		{"there were too many requests", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(w, "later", http.StatusTooManyRequests)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.node("a", having("1", ""))
				b.node("b", having("1", ""))
				b.interceptBindings(func(number int64, w http.ResponseWriter, req *http.Request, next http.Handler) {
					if number <= 2 {
						test.lose(w, req, next)
						return
					}
					next.ServeHTTP(w, req)
				})
				b.run("")
				for n := range 3 {
					b.pod(fmt.Sprint("p", n), requesting("600m", ""))
				}
				settle(time.Minute)
				assert.Equal(t, map[string]int{"": 1, "a": 1, "b": 1}, b.places())

				for _, pod := range b.list() { // what is gone counts no more
					if pod.Spec.NodeName != "" {
						b.delete(pod.Name)
					}
				}
				b.pod("p3", requesting("1", ""))
				settle(time.Minute)
				assert.Zero(t, b.places()[""])
			})
		})
	}
}

// The watch shows nothing meanwhile, so that only a GET tells where the pod is.
func TestABindingThatWasDoneAlreadyIsFoundByLooking(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.node("n", having("1", ""))
		var deaf atomic.Bool
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			switch {
			case strings.HasSuffix(req.URL.Path, "/binding") && !deaf.Swap(true):
				b.Stop() // cuts the watches as well
				loseAnswer(req, next)
			case deaf.Load() && req.URL.Path == "/api/v1/pods":
				http.Error(w, "not now", http.StatusServiceUnavailable)
			default:
				next.ServeHTTP(w, req)
			}
		})
		b.run("")
		b.pod("web-1", requesting("1", ""))
		settle(time.Second / 2)
		b.Restart()
		settle(time.Minute)
		assert.Equal(t, "n", b.get("web-1").Spec.NodeName)
		assert.Equal(t, []string{"web-1 Normal Scheduled: Successfully assigned default/web-1 to n"}, b.takeEvents())
	})
}

func TestAPodThatIsDeletedWhileItIsPlacedLeavesItsRoom(t *testing.T) {
	for _, test := range []struct {
		name  string
		again bool // another pod of its name comes
	}{{"it is gone", false}, {"another one has its name", true}} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.node("n", having("1", ""))
				bindings := b.interceptBindings(func(number int64, w http.ResponseWriter, req *http.Request, next http.Handler) {
					if number == 1 {
						b.delete("web-1")
						if test.again {
							b.pod("web-1", requesting("1", ""))
						}
					}
					next.ServeHTTP(w, req)
				})
				b.run("")
				b.pod("web-1", requesting("1", ""))
				settle(5 * time.Second)
				if test.again {
					assert.Equal(t, "n", b.get("web-1").Spec.NodeName)
					assert.Equal(t, int64(2), bindings.Load(), "the first one was for the pod that is gone")
					b.delete("web-1")
				}
				b.pod("web-2", requesting("1", ""))
				settle(5 * time.Second)
				assert.Equal(t, "n", b.get("web-2").Spec.NodeName)
			})
		})
	}
}

func TestABindingThatIsRefusedIsTriedAgainWithoutHaste(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.node("n", having("1", ""))
		bindings := b.interceptBindings(func(_ int64, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "message": "no", "code": 403}`))
		})
		b.run("")
		b.pod("web-1", requesting("1", ""))
		settle(10 * time.Minute)
		refused := bindings.Load()
		assert.Greater(t, refused, int64(10))
		assert.Less(t, refused, int64(40))
		b.Intercept(nil)
		settle(2 * time.Minute)
		assert.Equal(t, "n", b.get("web-1").Spec.NodeName)
	})
}

func TestAPodWhoseHostPortAnotherClientTakesGoesElsewhere(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.node("a")
		bindings := b.interceptBindings(func(number int64, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				b.pod("faster", withHostPort(80), on("a"))
				b.node("b")
			}
			next.ServeHTTP(w, req)
		})
		b.run("")
		b.pod("web-1", withHostPort(80))
		settle(5 * time.Second)
		assert.Equal(t, "b", b.get("web-1").Spec.NodeName)
		assert.Equal(t, int64(2), bindings.Load())
	})
}

// As when the informer shows for a while what is gone.
func TestAPodThatOnlyTheInformerShowsIsNotPlacedInHaste(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.node("n")
		var bindings atomic.Int64
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if strings.HasSuffix(req.URL.Path, "/binding") {
				bindings.Add(1)
			}
			if strings.Contains(req.URL.Path, "/pods/web-1") {
				http.Error(w, "not here", http.StatusNotFound)
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run("")
		b.pod("web-1")
		settle(10 * time.Minute)
		assert.Greater(t, bindings.Load(), int64(10))
		assert.Less(t, bindings.Load(), int64(20))
	})
}

func TestAStatusIsNotWrittenWhenThePodHasANodeByNow(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.node("n", cordoned(true))
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodPatch {
				assert.NoError(t, b.client.Pods().Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web-1"},
					Target: corev1.ObjectReference{Name: "n"}}))
			}
			next.ServeHTTP(w, req)
		})
		b.run("")
		b.pod("web-1")
		settle(time.Minute)
		conditions := b.get("web-1").Status.Conditions
		require.Len(t, conditions, 1)
		assert.Equal(t, corev1.ConditionTrue, conditions[0].Status)
	})
}

func TestOfTwoSchedulersNeitherMovesAPodOrTakesAHostPortTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		for n := range 10 {
			b.node(fmt.Sprint("n", n))
		}
		b.run("")
		b.run("")
		settle(time.Second)
		for n := range 60 {
			if n%2 == 0 {
				b.pod(fmt.Sprint("p", n), withHostPort(8080))
			} else {
				b.pod(fmt.Sprint("p", n))
			}
		}
		settle(3 * time.Minute)
		assert.Equal(t, 20, b.places()[""])
		b.requireNoOvercommit()
		scheduled := 0
		for _, event := range b.takeEvents() {
			if strings.Contains(event, " Scheduled: ") {
				scheduled++
			}
		}
		assert.GreaterOrEqual(t, scheduled, 40)
		for _, pod := range b.list() {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodScheduled {
					assert.Equal(t, pod.Spec.NodeName != "", condition.Status == corev1.ConditionTrue, pod.Name)
				}
			}
		}
	})
}
