package replication_test

import (
	"context"
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/master/controllertest"
	"kube2014/pkg/storage"
)

func TestAControllerThatWantsEndlesslyManyPodsLeavesTheOthersTheirTurn(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number > 5 {
				controllertest.Refuse(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", math.MaxInt32)
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4", "web-5"}, b.PodNames())
		b.scale("web", 2)
		b.Intercept(nil)
		b.create("db", 1)
		b.Settle(time.Minute)
		names := b.PodNames()
		require.Len(t, names, 3)
		assert.Equal(t, "db-1", names[0])
	})
}

// The watch is cut before it tells of the pod, and the next list is without it.
func TestAPodThatIsGoneBeforeItIsSeenIsReplaced(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		var mu sync.Mutex // guards what follows
		phase := "refused"
		cut := func() {}
		ended := make(chan struct{})
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			mu.Lock()
			now := phase
			mu.Unlock()
			isCreate := controllertest.IsControllers(req, http.MethodPost) && req.URL.Path == "/api/v1/namespaces/default/pods"
			isWatch := controllertest.IsWatch(req, "/pods")
			switch {
			case isWatch && now == "open":
				ctx, cancel := context.WithCancel(req.Context())
				mu.Lock()
				cut = cancel
				mu.Unlock()
				next.ServeHTTP(w, req.WithContext(ctx))
				close(ended)
			case isWatch && now == "cut":
				mu.Lock()
				phase = "listed"
				mu.Unlock()
				controllertest.Refuse(w, http.StatusGone, metav1.StatusReasonExpired, "too old")
			case isCreate && now == "refused":
				controllertest.Refuse(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
			case isCreate && now == "open":
				mu.Lock()
				phase = "cut"
				cutNow := cut
				mu.Unlock()
				cutNow()
				<-ended
				next.ServeHTTP(w, req)
				b.DeletePod("web-1")
			default:
				next.ServeHTTP(w, req)
			}
		})
		stop := b.run()
		b.create("web", 1)
		b.Settle(time.Second)
		stop()
		mu.Lock()
		phase = "open"
		mu.Unlock()
		b.run() // one that has not failed, and has nothing to say in the status
		b.Settle(5 * time.Minute)
		assert.Equal(t, "listed", phase)
		assert.Equal(t, []string{"web-1"}, b.PodNames())
	})
}

// K80. June 2014 takes such a controller.
func TestAControllerThatDoesNotSelectItsOwnPodsMakesNone(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number > 20 {
				controllertest.Refuse(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		template := api.TaskTemplate{Labels: map[string]string{"app": "db"}}
		template.DesiredState.Manifest.Containers = []api.Container{{Name: "c", Image: "i"}}
		_, err := b.Objects.Commit(storage.Create(&api.ReplicationController{JSONBase: api.JSONBase{ID: "web"}, DesiredState: api.ReplicationControllerState{
			Replicas: 2, ReplicasInSet: map[string]string{"app": "web"}, TaskTemplate: template}}))
		require.NoError(t, err)
		b.Settle(time.Minute)
		assert.Empty(t, b.PodNames())
		assert.Equal(t, "web Warning FailedCreate: Error creating: `selector` does not match template `labels`", b.TakeEvents()[0])

		b.createPod("other", map[string]string{"app": "web"})
		b.Settle(time.Second)
		assert.Equal(t, int32(1), b.get("web").Status.Replicas, "what it selects still counts")
	})
}
