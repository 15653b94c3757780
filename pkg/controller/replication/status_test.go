package replication_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/master/controllertest"
)

func TestTheStatusOfAControllerCountsItsPods(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 3)
		b.Settle(time.Second)
		b.SetStatus("web-1", controllertest.Ready)
		b.relabel("web-2", map[string]string{"app": "web"})
		b.Settle(time.Second)
		rc := b.get("web")
		assert.Equal(t, corev1.ReplicationControllerStatus{Replicas: 3, FullyLabeledReplicas: 2, ReadyReplicas: 1, AvailableReplicas: 1,
			ObservedGeneration: rc.Generation}, rc.Status)
		b.scale("web", 1)
		b.Settle(time.Second)
		rc = b.get("web")
		assert.Equal(t, corev1.ReplicationControllerStatus{Replicas: 1, FullyLabeledReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
			ObservedGeneration: rc.Generation}, rc.Status)
		assert.Equal(t, int64(2), rc.Generation)
	})
}

func TestAPodIsAvailableWhenItHasBeenReadyLongEnough(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		rc := replicationController("web", 2)
		rc.Spec.MinReadySeconds = 30
		_, err := b.API.ReplicationControllers().Create(t.Context(), rc)
		require.NoError(t, err)
		b.Settle(time.Second)
		b.SetStatus("web-1", controllertest.Ready)
		b.Settle(10 * time.Second)
		b.SetStatus("web-2", controllertest.Ready)
		b.Settle(10 * time.Second)
		assert.Equal(t, int32(2), b.get("web").Status.ReadyReplicas)
		assert.Equal(t, int32(0), b.get("web").Status.AvailableReplicas)
		b.Settle(11 * time.Second)
		assert.Equal(t, int32(1), b.get("web").Status.AvailableReplicas)
		b.Settle(10 * time.Second)
		assert.Equal(t, int32(2), b.get("web").Status.AvailableReplicas)
	})
}

func TestTheStatusTellsHowFarALongWayIs(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 1200)
		b.Settle(time.Minute)
		b.scale("web", 0)
		b.Settle(time.Minute)
		var told []int32
		everything(b, b.API.ReplicationControllers().Resource, func(_ uint64, _ bool, rc *corev1.ReplicationController) {
			told = append(told, rc.Status.Replicas)
		})
		told = slices.Compact(told)
		assert.Subset(t, told, []int32{500, 700}, "others may be passed over, if the copy of the controller is stale then")
		assert.Subset(t, []int32{0, 500, 1000, 1200, 700, 200}, told)
	})
}

func TestAStatusIsWrittenOnlyWhenItHasChanged(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.Settle(time.Second)
		var written atomic.Int64
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/replicationcontrollers/web/status") {
				written.Add(1)
			}
			next.ServeHTTP(w, req)
		})
		b.relabel("web-1", map[string]string{"app": "web", "tier": "front", "more": "labels"})
		b.Settle(time.Minute)
		assert.Zero(t, written.Load())
		b.SetStatus("web-1", controllertest.Ready)
		b.Settle(time.Minute)
		assert.Equal(t, int64(1), written.Load())
	})
}

func TestAStatusThatMeetsAConflictIsWrittenAgain(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 1)
		b.Settle(time.Second)
		var written atomic.Int64
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/status") && req.UserAgent() != "test" && written.Add(1) == 1 {
				controllertest.Refuse(w, http.StatusConflict, "Conflict", "changed")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.SetStatus("web-1", controllertest.Ready)
		b.Settle(5 * time.Second)
		assert.Equal(t, int32(1), b.get("web").Status.ReadyReplicas)
		assert.Equal(t, int64(2), written.Load())
	})
}

// recorded notes the status of an answer.
type recorded struct {
	http.ResponseWriter
	status int
}

func (r *recorded) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorded) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// The copy that the next sync goes by shows the status that was written.
func TestNoStatusOfAControllerIsRefusedBecauseOfTheOneBefore(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		var mu sync.Mutex
		answers := map[int]int{}
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if !strings.HasSuffix(req.URL.Path, "/replicationcontrollers/web/status") {
				next.ServeHTTP(w, req)
				return
			}
			answer := &recorded{ResponseWriter: w}
			next.ServeHTTP(answer, req)
			mu.Lock()
			defer mu.Unlock()
			answers[answer.status]++
		})
		b.run()
		b.create("web", 3)
		b.Settle(time.Second)
		for replicas := range int32(20) {
			b.scale("web", replicas)
			b.Settle(100 * time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		assert.Greater(t, answers[http.StatusOK], 20)
		assert.Len(t, answers, 1)
	})
}
