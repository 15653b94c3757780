package replication_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestACreateThatIsRefusedIsToldAndTriedAgain(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		var asked atomic.Int64
		b.interceptPods(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if asked.Store(int64(number)); number > 1 && number <= 4 {
				refuseRequest(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 3)
		b.settle(15 * time.Millisecond) // before the second pause
		assert.LessOrEqual(t, asked.Load(), int64(3), "a refusal ends the batch")
		b.settle(time.Minute)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.names())
		refused := "web Warning FailedCreate: Error creating: exceeded quota: pods"
		assert.Equal(t, []string{"web Normal SuccessfulCreate: Created pod: web-1", refused, refused, refused,
			"web Normal SuccessfulCreate: Created pod: web-2", "web Normal SuccessfulCreate: Created pod: web-3"}, b.takeEvents())
		assert.Equal(t, int64(6), asked.Load())
	})
}

func TestARefusedDeleteIsToldAndTriedAgain(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.settle(time.Second)
		b.takeEvents()
		b.interceptPods(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				refuseRequest(w, http.StatusForbidden, "Forbidden", "not now")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.scale("web", 1)
		b.settle(time.Minute)
		assert.Len(t, b.names(), 1)
		assert.Equal(t, "web Warning FailedDelete: Error deleting: not now", b.takeEvents()[0])
	})
}

func TestTheStatusIsToldAlsoWhenCreatesAreRefused(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.interceptPods(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number > 2 {
				refuseRequest(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 5)
		b.settle(time.Minute)
		assert.Equal(t, int32(2), b.get("web").Status.Replicas)
		assert.Equal(t, int64(1), b.get("web").Status.ObservedGeneration)
	})
}

func TestNamesThatOthersHaveAreLeftOut(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.createPod("web-2", map[string]string{"app": "db"})
		b.run()
		b.create("web", 3)
		b.settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4"}, b.names())
		assert.Equal(t, map[string]string{"app": "db"}, b.pod("web-2").Labels)
	})
}

func TestANameThatAnotherTakesMeanwhileIsLeftOutWithoutAWord(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.interceptPods(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				b.createPod("web-1", nil)
				b.createPod("web-2", nil)
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 2)
		b.settle(5 * time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4"}, b.names())
		assert.Equal(t, []string{"web Normal SuccessfulCreate: Created pod: web-3", "web Normal SuccessfulCreate: Created pod: web-4"}, b.takeEvents())
	})
}

// K70.
func TestALostAnswerMakesNoSecondPod(t *testing.T) {
	for name, lose := range map[string]func(w http.ResponseWriter, req *http.Request, next http.Handler){
		"it was done":     func(_ http.ResponseWriter, req *http.Request, next http.Handler) { loseReplicationAnswer(req, next) },
		"it was not done": func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
		"it was an error of the server": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			next.ServeHTTP(httptest.NewRecorder(), req)
			http.Error(w, "bad gateway", http.StatusBadGateway)
		},
	} {
		t.Run(name, func(t *testing.T) {
			withReplicationBench(t, func(t *testing.T, b *replicationBench) {
				between := func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
					if number%2 == 1 && number < 20 {
						lose(w, req, next)
						return
					}
					next.ServeHTTP(w, req)
				}
				b.interceptPods(between)
				b.run()
				b.create("web", 5)
				b.settle(5 * time.Minute)
				assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, b.names())
				b.interceptPods(between)
				b.scale("web", 2)
				b.settle(5 * time.Minute)
				assert.Len(t, b.names(), 2, "no more are deleted than are too many")
				counts := b.requireNeverTooMany("web")
				assert.Equal(t, 2, slices.Min(counts[slices.Index(counts, 5):]))
			})
		})
	}
}

// The copy of the pods shows nothing of what is made: only the names say that it is there.
func TestAManagerThatSeesNothingMakesNoSecondPod(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.blindTo("pods")
		b.run()
		b.create("web", 3)
		b.settle(4 * time.Minute)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.names())
		b.scale("web", 5)
		b.settle(30 * time.Minute) // expectations end; the watch does, and is begun again
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, b.names())
		assert.Len(t, b.takeEvents(), 5)
	})
}

func TestAManagerThatIsRestartedInTheMiddleGoesOn(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		middle, goOn := make(chan struct{}), make(chan struct{})
		b.interceptPods(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 20 {
				close(middle)
				<-goOn
				loseReplicationAnswer(req, next)
			}
			next.ServeHTTP(w, req)
		})
		stop := b.run()
		b.create("web", 50)
		<-middle
		stop()
		b.run()
		b.settle(time.Second)
		close(goOn) // what the first one asked for comes late
		b.settle(time.Minute)
		assert.Len(t, b.names(), 50)
		b.requireNeverTooMany("web")
		assert.Equal(t, int32(50), b.get("web").Status.Replicas)
	})
}

func TestAServerThatIsRestartedInTheMiddleIsWaitedFor(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		stopped := make(chan struct{})
		b.interceptPods(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			next.ServeHTTP(w, req)
			if number == 20 {
				b.Stop()
				close(stopped)
			}
		})
		b.run()
		b.create("web", 50)
		<-stopped
		b.settle(5 * time.Minute)
		b.Restart()
		b.settle(5 * time.Minute)
		assert.Len(t, b.names(), 50)
		b.requireNeverTooMany("web")
	})
}

func TestAControllerThatIsScaledDownInTheMiddleStopsAtOnce(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.interceptPods(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 10 {
				b.scale("web", 3)
				time.Sleep(time.Second) // the copy has that
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 50)
		b.settle(time.Minute)
		assert.Len(t, b.names(), 3)
		assert.Equal(t, 10, slices.Max(b.requireNeverTooMany("web")))
	})
}

func TestWhatTheServerAnswersWithoutSenseIsTriedAgain(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.interceptPods(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number <= 3 {
				io.WriteString(w, "<html>\n")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 2)
		b.settle(time.Minute)
		assert.Equal(t, []string{"web-1", "web-2"}, b.names())
	})
}

func TestALongNameOfAControllerIsCutInTheNamesOfItsPods(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		name := strings.Repeat("a", 56) + "." + strings.Repeat("b", 150)
		rc := replicationController(name, 2)
		rc.Spec.Selector, rc.Spec.Template.Labels = map[string]string{"app": "long"}, map[string]string{"app": "long"}
		_, err := b.client.ReplicationControllers().Create(t.Context(), rc)
		assert.NoError(t, err)
		b.settle(time.Second)
		prefix := strings.Repeat("a", 56)
		assert.Equal(t, []string{fmt.Sprint(prefix, "-1"), fmt.Sprint(prefix, "-2")}, b.names())
	})
}

// A name that is lower than that of the pod whose create had no answer becomes free; the copy has
// that already, but not yet the pod.
func TestWhatHadNoAnswerIsAskedForAgainBeforeLowerNames(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.createPod("web-1", nil)
		gate := make(chan struct{}, 1) // full while the watch is held up
		var asked atomic.Int64
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			isCreate := req.UserAgent() != "test" && req.Method == http.MethodPost
			switch {
			case isReplicationWatch(req) && req.URL.Path == "/api/v1/pods":
				w = heldWriter{w, func() {
					gate <- struct{}{}
					<-gate
				}}
			case isCreate && asked.Add(1) == 1:
				b.deletePod("web-1")
				time.Sleep(time.Second) // the copy has that
				gate <- struct{}{}
				loseReplicationAnswer(req, next)
			case isCreate && asked.Load() == 2: // which says nothing of the first one
				refuseRequest(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 1)
		b.settle(30 * time.Second)
		assert.Equal(t, int64(3), asked.Load(), "it is asked for until it is there")
		<-gate
		b.settle(time.Minute)
		assert.Equal(t, []string{"web-2"}, b.names())
		b.requireNeverTooMany("web")
	})
}
