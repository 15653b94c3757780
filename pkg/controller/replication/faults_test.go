package replication_test

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/master/controllertest"
)

func TestACreateThatIsRefusedIsToldAndTriedAgain(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		var asked atomic.Int64
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if asked.Store(int64(number)); number > 1 && number <= 4 {
				controllertest.Refuse(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 3)
		b.Settle(15 * time.Millisecond) // before the second pause
		assert.LessOrEqual(t, asked.Load(), int64(3), "a refusal ends the batch")
		b.Settle(time.Minute)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.PodNames())
		refused := "web Warning FailedCreate: Error creating: exceeded quota: pods"
		assert.Equal(t, []string{"web Normal SuccessfulCreate: Created pod: web-1", refused, refused, refused,
			"web Normal SuccessfulCreate: Created pod: web-2", "web Normal SuccessfulCreate: Created pod: web-3"}, b.TakeEvents())
		assert.Equal(t, int64(6), asked.Load())
	})
}

func TestARefusedDeleteIsToldAndTriedAgain(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.Settle(time.Second)
		b.TakeEvents()
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				controllertest.Refuse(w, http.StatusForbidden, "Forbidden", "not now")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.scale("web", 1)
		b.Settle(time.Minute)
		assert.Len(t, b.PodNames(), 1)
		assert.Equal(t, "web Warning FailedDelete: Error deleting: not now", b.TakeEvents()[0])
	})
}

func TestAPodThatMayNotBeDeletedDoesNotKeepTheOthers(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 5)
		b.Settle(time.Second)
		var protected string // the first that is to be deleted
		b.InterceptWrites("/pods/", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				protected = req.URL.Path
			}
			if req.URL.Path == protected {
				controllertest.Refuse(w, http.StatusForbidden, "Forbidden", "protected")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.scale("web", 1)
		b.Settle(time.Minute)
		assert.Len(t, b.PodNames(), 2)
		assert.Contains(t, b.PodNames(), path.Base(protected))
	})
}

func TestTheStatusIsToldAlsoWhenCreatesAreRefused(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number > 2 {
				controllertest.Refuse(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 5)
		b.Settle(time.Minute)
		assert.Equal(t, int32(2), b.get("web").Status.Replicas)
		assert.Equal(t, int64(1), b.get("web").Status.ObservedGeneration)
	})
}

func TestNamesThatOthersHaveAreLeftOut(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.createPod("web-2", map[string]string{"app": "db"})
		b.run()
		b.create("web", 3)
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4"}, b.PodNames())
		assert.Equal(t, map[string]string{"app": "db"}, b.Pod("web-2").Labels)
	})
}

func TestANameThatAnotherTakesMeanwhileIsLeftOutWithoutAWord(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				b.createPod("web-1", nil)
				b.createPod("web-2", nil)
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 2)
		b.Settle(5 * time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4"}, b.PodNames())
		assert.Equal(t, []string{"web Normal SuccessfulCreate: Created pod: web-3", "web Normal SuccessfulCreate: Created pod: web-4"}, b.TakeEvents())
	})
}

// K70.
func TestALostAnswerMakesNoSecondPod(t *testing.T) {
	for name, lose := range controllertest.Losses {
		t.Run(name, func(t *testing.T) {
			withReplicationBench(t, func(t *testing.T, b *replicationBench) {
				between := func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
					if number%2 == 1 && number < 20 {
						lose(w, req, next)
						return
					}
					next.ServeHTTP(w, req)
				}
				b.InterceptWrites("/pods", between)
				b.run()
				b.create("web", 5)
				b.Settle(5 * time.Minute)
				assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, b.PodNames())
				b.InterceptWrites("/pods", between)
				b.scale("web", 2)
				b.Settle(5 * time.Minute)
				assert.Len(t, b.PodNames(), 2, "no more are deleted than are too many")
				counts := b.requireNeverTooMany("web")
				assert.Equal(t, 2, slices.Min(counts[slices.Index(counts, 5):]))
			})
		})
	}
}

// The copy of the pods shows nothing of what is made: only the names say that it is there.
func TestAManagerThatSeesNothingMakesNoSecondPod(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.BlindTo("pods")
		b.run()
		b.create("web", 3)
		b.Settle(4 * time.Minute)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.PodNames())
		b.scale("web", 5)
		b.Settle(30 * time.Minute) // expectations end; the watch does, and is begun again
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, b.PodNames())
		assert.Len(t, b.TakeEvents(), 5)
	})
}

func TestAManagerThatIsRestartedInTheMiddleGoesOn(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		middle, goOn := make(chan struct{}), make(chan struct{})
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 20 {
				close(middle)
				<-goOn
				controllertest.LoseAnswer(w, req, next)
			}
			next.ServeHTTP(w, req)
		})
		stop := b.run()
		b.create("web", 50)
		<-middle
		stop()
		b.run()
		b.Settle(time.Second)
		close(goOn) // what the first one asked for comes late
		b.Settle(time.Minute)
		assert.Len(t, b.PodNames(), 50)
		b.requireNeverTooMany("web")
		assert.Equal(t, int32(50), b.get("web").Status.Replicas)
	})
}

func TestAServerThatIsRestartedInTheMiddleIsWaitedFor(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		stopped := make(chan struct{})
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			next.ServeHTTP(w, req)
			if number == 20 {
				b.Stop()
				close(stopped)
			}
		})
		b.run()
		b.create("web", 50)
		<-stopped
		b.Settle(5 * time.Minute)
		b.Restart()
		b.Settle(5 * time.Minute)
		assert.Len(t, b.PodNames(), 50)
		b.requireNeverTooMany("web")
	})
}

func TestAControllerThatIsScaledDownInTheMiddleStopsAtOnce(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 10 {
				b.scale("web", 3)
				time.Sleep(time.Second) // the copy has that
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 50)
		b.Settle(time.Minute)
		assert.Len(t, b.PodNames(), 3)
		assert.Equal(t, 10, slices.Max(b.requireNeverTooMany("web")))
	})
}

func TestWhatTheServerAnswersWithoutSenseIsTriedAgain(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number <= 3 {
				io.WriteString(w, "<html>\n")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 2)
		b.Settle(time.Minute)
		assert.Equal(t, []string{"web-1", "web-2"}, b.PodNames())
	})
}

func TestALongNameOfAControllerIsCutInTheNamesOfItsPods(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		name := strings.Repeat("a", 56) + "." + strings.Repeat("b", 150)
		rc := replicationController(name, 2)
		rc.Spec.Selector, rc.Spec.Template.Labels = map[string]string{"app": "long"}, map[string]string{"app": "long"}
		_, err := b.API.ReplicationControllers().Create(t.Context(), rc)
		assert.NoError(t, err)
		b.Settle(time.Second)
		prefix := strings.Repeat("a", 56)
		assert.Equal(t, []string{fmt.Sprint(prefix, "-1"), fmt.Sprint(prefix, "-2")}, b.PodNames())
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
			isCreate := controllertest.IsControllers(req, http.MethodPost)
			switch {
			case controllertest.IsWatch(req, "/pods"):
				w = controllertest.Hold(w, func() {
					gate <- struct{}{}
					<-gate
				})
			case isCreate && asked.Add(1) == 1:
				b.DeletePod("web-1")
				time.Sleep(time.Second) // the copy has that
				gate <- struct{}{}
				controllertest.LoseAnswer(w, req, next)
			case isCreate && asked.Load() == 2: // which says nothing of the first one
				controllertest.Refuse(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 1)
		b.Settle(30 * time.Second)
		assert.Equal(t, int64(3), asked.Load(), "it is asked for until it is there")
		<-gate
		b.Settle(time.Minute)
		assert.Equal(t, []string{"web-2"}, b.PodNames())
		b.requireNeverTooMany("web")
	})
}
