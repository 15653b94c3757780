package deployment_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/master/controllertest"
)

func TestALostAnswerMakesNoSecondReplicaSet(t *testing.T) {
	for name, lose := range controllertest.Losses {
		t.Run(name, func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				b.InterceptWrites("/replicasets", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
					if number%2 == 1 {
						lose(w, req, next)
						return
					}
					next.ServeHTTP(w, req)
				})
				b.run()
				b.create()
				b.Settle(time.Minute)
				b.requireDone("one", 10)
				b.fleet.expect(13, 8)
				b.change(image("two"))
				b.Settle(5 * time.Minute)
				b.requireDone("two", 10)
				assert.Len(t, b.sets(), 2)
				assert.Nil(t, b.get().Status.CollisionCount)
			})
		})
	}
}

func TestACreateThatIsRefusedIsToldAndTriedAgain(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		var isOpen atomic.Bool
		var asked atomic.Int64
		b.InterceptWrites("/replicasets", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if !isOpen.Load() {
				asked.Store(int64(number))
				controllertest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota: replica sets")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create()
		b.Settle(time.Minute)
		told := b.progressing()
		assert.Regexp(t, `^False ReplicaSetCreateError: Failed to create new replica set "web-[^"]+": exceeded quota: replica sets$`, told)
		assert.Equal(t, strings.Replace(told, "False ", "web Warning ", 1), b.TakeEvents()[0])
		assert.Equal(t, int64(1), b.get().Status.ObservedGeneration)
		b.Settle(time.Hour)
		assert.Less(t, asked.Load(), int64(100), "also past the deadline it pauses between attempts")
		isOpen.Store(true)
		b.Settle(20 * time.Minute)
		b.requireDone("one", 10)
	})
}

func TestANamespaceThatEndsGetsNoReplicaSetAndNoComplaint(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		var asked atomic.Int64
		b.InterceptWrites("/replicasets", func(number int, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			asked.Store(int64(number))
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"details":{"causes":[{"reason":"NamespaceTerminating"}]}}`))
		})
		b.run()
		b.create()
		b.Settle(time.Hour)
		assert.Empty(t, b.TakeEvents())
		assert.LessOrEqual(t, asked.Load(), int64(2), "its status is seen once more")
	})
}

func TestANameThatAnotherReplicaSetHasIsACollision(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		stop := b.run()
		b.create()
		b.Settle(time.Minute)
		stop()
		first := b.set("one")
		b.changeSet(first.Name, func(set *appsv1.ReplicaSet) { // nobody would adopt it
			set.OwnerReferences, set.Labels = nil, map[string]string{"app": "other"}
		})
		b.run()
		b.Settle(time.Minute)
		require.Len(t, b.sets(), 2)
		assert.Equal(t, new(int32(1)), b.get().Status.CollisionCount)
		var second *appsv1.ReplicaSet
		for _, set := range b.sets() {
			if set.Name != first.Name {
				second = set
			}
		}
		assert.True(t, metav1.IsControlledBy(second, b.get()))
		assert.NotEqual(t, first.Labels["pod-template-hash"], second.Labels["pod-template-hash"])
		assert.Equal(t, int32(10), *second.Spec.Replicas)
		b.change(image("two"))
		b.Settle(time.Minute)
		b.change(image("one"))
		b.Settle(time.Minute)
		assert.Len(t, b.sets(), 3, "the one with the other name is taken up again")
		assert.Equal(t, new(int32(1)), b.get().Status.CollisionCount)
	})
}

func TestReplicaSetsAreAdoptedAndReleased(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		orphan := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "by-hand", Labels: map[string]string{"app": "web"}}}
		orphan.Spec.Replicas = new(int32(4))
		orphan.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		orphan.Spec.Template = deploymentOf("web", 4).Spec.Template
		b.createSet(orphan)
		other := orphan.DeepCopy()
		other.Name, other.Labels = "not-selected", map[string]string{"app": "db"}
		b.createSet(other)
		b.Settle(10 * time.Second)
		b.run()
		d := b.create(size(4))
		b.Settle(time.Minute)
		require.Len(t, b.sets(), 2)
		adopted, err := b.API.ReplicaSets().Get(t.Context(), "by-hand")
		require.NoError(t, err)
		assert.True(t, metav1.IsControlledBy(adopted, d))
		assert.Equal(t, "1", adopted.Annotations["deployment.kubernetes.io/revision"])
		assert.Equal(t, "1", b.get().Annotations["deployment.kubernetes.io/revision"])

		b.changeSet("by-hand", func(set *appsv1.ReplicaSet) { set.Labels = map[string]string{"app": "released"} })
		b.Settle(time.Minute)
		released, err := b.API.ReplicaSets().Get(t.Context(), "by-hand")
		require.NoError(t, err)
		assert.Empty(t, released.OwnerReferences)
		assert.Equal(t, int32(4), *released.Spec.Replicas)
		require.Len(t, b.sets(), 3, "there is a new one")

		b.changeSet("by-hand", func(set *appsv1.ReplicaSet) { set.Labels = map[string]string{"app": "web"} })
		b.Settle(time.Minute)
		for _, set := range b.sets() {
			if metav1.IsControlledBy(set, d) {
				assert.Equal(t, set.Name == "by-hand", *set.Spec.Replicas == 4, "the oldest one of the template has the pods")
				assert.Equal(t, set.Name != "by-hand", *set.Spec.Replicas == 0)
			}
		}
	})
}

func TestAReplicaSetThatIsTakenAwayIsReplaced(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create()
		b.Settle(time.Minute)
		taken := b.set("one").Name
		b.changeSet(taken, func(set *appsv1.ReplicaSet) { set.OwnerReferences, set.Labels = nil, map[string]string{"app": "other"} })
		b.Settle(time.Minute)
		require.Len(t, b.sets(), 2)
		for _, set := range b.sets() {
			assert.Equal(t, set.Name != taken, metav1.IsControlledBy(set, b.get()))
			assert.Equal(t, int32(10), *set.Spec.Replicas)
		}
	})
}

func TestADeploymentThatIsBeingDeletedOnlyTellsItsStatus(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/wait"} })
		b.Settle(time.Minute)
		require.NoError(t, b.API.Deployments().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		orphan := b.set("one").DeepCopy()
		orphan.ObjectMeta = metav1.ObjectMeta{Name: "orphan", Labels: orphan.Labels}
		orphan.Spec.Replicas = new(int32(1))
		b.createSet(orphan)
		b.change(image("two"), size(5))
		b.changeSet(b.set("one").Name, func(set *appsv1.ReplicaSet) { set.Spec.Replicas = new(int32(3)) })
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 4}, b.sizes())
		got, err := b.API.ReplicaSets().Get(t.Context(), "orphan")
		require.NoError(t, err)
		assert.Empty(t, got.OwnerReferences)
		assert.Equal(t, int32(3), b.get().Status.Replicas)
		assert.Equal(t, b.get().Generation, b.get().Status.ObservedGeneration)
	})
}

// Its copy of the deployments is from before it was replaced.
func TestWhatADeletedDeploymentWantedIsNotMade(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.create(paused(true))
		b.BlindTo("deployments")
		b.run()
		b.Settle(time.Second)
		require.NoError(t, b.API.Deployments().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		d := b.create(image("two"))
		orphan := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{"app": "web"}}}
		orphan.Spec.Replicas = new(int32(1))
		orphan.Spec.Selector, orphan.Spec.Template = d.Spec.Selector, deploymentOf("web", 1).Spec.Template
		b.createSet(orphan) // which wakes the controller
		b.Settle(4 * time.Minute)
		assert.Equal(t, map[string]int32{"one": 1}, b.sizes())
		assert.Empty(t, b.set("one").OwnerReferences)
		assert.Zero(t, b.get().Status.ObservedGeneration)
		b.Settle(time.Hour) // watches end
		b.requireDone("two", 10)
	})
}

// Its copy of the deployments is from before that was deleted, and waits for something.
func TestADeploymentThatIsBeingDeletedAdoptsAndMakesNothing(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.create(paused(true), func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/wait"} })
		b.BlindTo("deployments")
		b.run()
		b.Settle(time.Second)
		require.NoError(t, b.API.Deployments().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		orphan := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{"app": "web"}}}
		orphan.Spec.Replicas = new(int32(1))
		orphan.Spec.Selector, orphan.Spec.Template = b.get().Spec.Selector, deploymentOf("web", 1).Spec.Template
		b.createSet(orphan)
		b.Settle(time.Hour)
		assert.Equal(t, map[string]int32{"one": 1}, b.sizes())
		assert.Empty(t, b.set("one").OwnerReferences)
	})
}

func TestAnOldReplicaSetThatIsScaledMeanwhileIsNotDeleted(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		var deletes atomic.Int64
		b.InterceptWrites("/replicasets", func(_ int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodDelete && deletes.Add(1) == 1 {
				b.changeSet(b.set("one").Name, func(set *appsv1.ReplicaSet) { set.Spec.Replicas = new(int32(1)) })
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create(func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) })
		b.Settle(time.Minute)
		b.change(image("two"))
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"two": 10}, b.sizes())
		assert.Equal(t, int64(2), deletes.Load(), "it gets no pods first")
	})
}

// The copies show nothing of what is made: what the server has decides.
func TestAControllerThatSeesNoReplicaSetMakesNoSecondOne(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.BlindTo("replicasets")
		b.run()
		b.create()
		b.Settle(3 * time.Minute)
		require.Len(t, b.sets(), 1)
		b.fleet.expect(13, 8)
		b.change(image("two"))
		b.Settle(3 * time.Hour)
		b.requireDone("two", 10)
		assert.Len(t, b.sets(), 2)
	})
}

// Otherwise the name of the new one might be that of the orphan: a collision.
func TestAnOrphanThatTheCopiesDoNotShowIsAdoptedFirst(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		d := b.create(paused(true))
		b.Settle(time.Minute)
		b.BlindTo("replicasets")
		b.run()
		b.Settle(time.Second)
		orphan := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{"app": "web"}}}
		orphan.Spec.Replicas = new(int32(1))
		orphan.Spec.Selector, orphan.Spec.Template = d.Spec.Selector, deploymentOf("web", 1).Spec.Template
		b.createSet(orphan)
		b.change(paused(false))
		b.Settle(4 * time.Minute)
		assert.Equal(t, map[string]int32{"one": 1}, b.sizes())
		assert.Empty(t, b.set("one").OwnerReferences)
		b.Settle(time.Hour) // watches end
		b.requireDone("one", 10)
		assert.Len(t, b.sets(), 1)
		assert.True(t, metav1.IsControlledBy(b.set("one"), b.get()))
	})
}

func TestAConflictIsDecidedAnew(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.InterceptWrites("/replicasets", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 2 && req.Method == http.MethodPut { // somebody scales it before
				b.changeSet(b.set("one").Name, func(set *appsv1.ReplicaSet) { set.Spec.Replicas = new(int32(7)) })
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create()
		b.Settle(time.Minute)
		b.change(size(12))
		b.Settle(time.Minute)
		b.requireDone("one", 12)
	})
}

func TestAControllerThatIsRestartedInTheMiddleGoesOn(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		stop := b.run()
		b.create()
		b.Settle(time.Minute)
		b.fleet.expect(13, 8)
		b.change(image("two"))
		for range 20 {
			b.Settle(150 * time.Millisecond)
			stop()
			stop = b.run()
		}
		b.Settle(time.Minute)
		b.requireDone("two", 10)
	})
}

func TestTwoControllersAtATimeKeepTheLimitsToo(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.run()
		b.create()
		b.Settle(time.Minute)
		b.fleet.expect(13, 8)
		for _, name := range []string{"two", "three", "one"} {
			b.change(image(name))
			b.Settle(5 * time.Minute)
			b.requireDone(name, 10)
		}
		assert.Len(t, b.sets(), 3)
	})
}

// Today's controller has made them: the names have other hashes.
func TestReplicaSetsOfAnotherControllerAreTakenOver(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		d := b.create(func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "7"}
		})
		for revision, name := range map[string]string{"6": "zero", "7": "one"} {
			labels := map[string]string{"app": "web", "pod-template-hash": "5d4f8c7b9" + revision}
			set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-5d4f8c7b9" + revision, Labels: labels,
				Annotations:     map[string]string{"deployment.kubernetes.io/revision": revision, "deployment.kubernetes.io/desired-replicas": "10"},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}}}
			set.Spec.Replicas, set.Spec.Selector = new(int32(0)), &metav1.LabelSelector{MatchLabels: labels}
			if name == "one" {
				set.Spec.Replicas = new(int32(10))
			}
			set.Spec.Template = *d.Spec.Template.DeepCopy()
			set.Spec.Template.Labels, set.Spec.Template.Spec.Containers[0].Image = labels, name
			b.createSet(set)
		}
		b.Settle(time.Minute)
		b.run()
		b.Settle(time.Minute)
		b.requireDone("one", 10)
		assert.Empty(t, b.TakeEvents())
		assert.Len(t, b.sets(), 2)
		b.change(image("zero"))
		b.Settle(time.Minute)
		b.requireDone("zero", 10)
		assert.Equal(t, "8", b.get().Annotations["deployment.kubernetes.io/revision"])
		assert.Len(t, b.sets(), 2)
	})
}

func TestAReplicaSetThatIsBeingDeletedIsReplacedWhenItIsGone(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create()
		b.Settle(time.Minute)
		first := b.set("one")
		b.changeSet(first.Name, func(set *appsv1.ReplicaSet) { set.Finalizers = []string{"example.com/wait"} })
		require.NoError(t, b.API.ReplicaSets().Delete(t.Context(), first.Name, metav1.DeleteOptions{}))
		b.Settle(10 * time.Minute)
		require.Len(t, b.sets(), 1)
		b.changeSet(first.Name, func(set *appsv1.ReplicaSet) { set.Finalizers = nil })
		b.Settle(time.Minute)
		require.Len(t, b.sets(), 1)
		assert.NotEqual(t, first.UID, b.sets()[0].UID)
		assert.Nil(t, b.get().Status.CollisionCount)
		b.requireDone("one", 10)
	})
}

// A pod that was lost from an old replica set is not deleted a second time for the one of the new that is there.
func TestWhatIsLostMeanwhileCountsAsUnavailable(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(rolling("1", "0"))
		b.Settle(time.Minute)
		b.fleet.change(func(f *fleet) { f.broken = "bad" })
		b.change(image("bad"))
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 10, "bad": 1}, b.sizes())
		b.fleet.change(func(f *fleet) { f.startup = 10 * time.Minute })
		b.fleet.lose(b.set("one"), 3)
		b.Settle(time.Minute)
		assert.Equal(t, int32(10), b.sizes()["one"])
		assert.Equal(t, "False MinimumReplicasUnavailable: Deployment does not have minimum availability.", b.condition(appsv1.DeploymentAvailable))
	})
}

func TestALongNameOfADeploymentIsCutInTheNamesOfItsReplicaSets(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		d := deploymentOf("web", 1)
		d.Name = strings.Repeat("a", 238) + "." + strings.Repeat("b", 14)
		_, err := b.API.Deployments().Create(t.Context(), d)
		require.NoError(t, err)
		b.Settle(time.Minute)
		require.Len(t, b.sets(), 1)
		assert.LessOrEqual(t, len(b.sets()[0].Name), 253)
		assert.Regexp(t, `^a+(\.b*)?-[a-z0-9]+$`, b.sets()[0].Name)
	})
}

func TestARollingUpdateNeedsFewRequests(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(size(100))
		b.Settle(time.Minute)
		var mu sync.Mutex
		asked := map[string]int{}
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.UserAgent() != "test" {
				mu.Lock()
				asked[req.Method+" "+req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]]++
				mu.Unlock()
			}
			next.ServeHTTP(w, req)
		})
		began := time.Now()
		b.change(image("two"))
		for b.get().Status.AvailableReplicas != 100 || b.sizes()["one"] > 0 || b.get().Status.UpdatedReplicas != 100 {
			time.Sleep(10 * time.Millisecond)
		}
		assert.Less(t, time.Since(began), 5*time.Second, "pods are ready after a second; half of them are made at once")
		mu.Lock()
		defer mu.Unlock()
		total := 0
		for _, count := range asked {
			total += count
		}
		assert.Less(t, total, 60, asked)
	})
}
