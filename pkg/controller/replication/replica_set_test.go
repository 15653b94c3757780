package replication_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/controller/replication"
	"kube2014/pkg/master/controllertest"
)

func (b *replicationBench) runReplicaSets() (stop func()) {
	return controllertest.Run(b.Bench, 0, replication.NewReplicaSetController)
}

func replicaSet(name string, replicas int32) *appsv1.ReplicaSet {
	rc := replicationController(name, replicas)
	return &appsv1.ReplicaSet{ObjectMeta: rc.ObjectMeta, Spec: appsv1.ReplicaSetSpec{Replicas: rc.Spec.Replicas,
		Selector: &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}, Template: *rc.Spec.Template}}
}

func (b *replicationBench) createSet(rs *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	return controllertest.Create(b.T, b.API.ReplicaSets(), rs)
}

func (b *replicationBench) getSet(name string) *appsv1.ReplicaSet {
	return controllertest.Get(b.T, b.API.ReplicaSets(), name)
}

func (b *replicationBench) scaleSet(name string, replicas int32) {
	controllertest.Change(b.T, b.API.ReplicaSets(), name, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
}

func TestAReplicaSetGetsItsPodsByCountedNames(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.runReplicaSets()
		rs := b.createSet(replicaSet("web-5d4f8c7b9", 2))
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-5d4f8c7b9-1", "web-5d4f8c7b9-2"}, b.PodNames())
		pod := b.Pods()[0]
		assert.Equal(t, map[string]string{"app": "web-5d4f8c7b9", "tier": "front"}, pod.Labels)
		assert.Equal(t, map[string]string{"note": "kept"}, pod.Annotations)
		yes := true
		assert.Equal(t, []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: rs.Name, UID: rs.UID,
			Controller: &yes, BlockOwnerDeletion: &yes}}, pod.OwnerReferences)
		b.scaleSet(rs.Name, 1)
		b.Settle(time.Second)
		assert.Len(t, b.PodNames(), 1)
		events := b.TakeEvents()
		require.Len(t, events, 3)
		assert.Equal(t, rs.Name+" Normal SuccessfulCreate: Created pod: web-5d4f8c7b9-1", events[0])
		assert.Contains(t, events[2], rs.Name+" Normal SuccessfulDelete: Deleted pod: web-5d4f8c7b9-")
	})
}

func TestAReplicaSetSelectsByExpressions(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.createPod("one", map[string]string{"app": "old", "tier": "front"})
		b.createPod("other", map[string]string{"app": "old"})
		b.createPod("debugged", map[string]string{"app": "web", "tier": "front", "debug": "yes"})
		rs := replicaSet("web", 2)
		rs.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "old"}},
			{Key: "tier", Operator: metav1.LabelSelectorOpExists},
			{Key: "debug", Operator: metav1.LabelSelectorOpDoesNotExist},
		}}
		rs = b.createSet(rs)
		b.runReplicaSets()
		b.Settle(time.Second)
		assert.Equal(t, []string{"debugged", "one", "other", "web-1"}, b.PodNames())
		assert.Equal(t, rs.UID, metav1.GetControllerOf(b.Pod("one")).UID)
		assert.Nil(t, metav1.GetControllerOf(b.Pod("other")))
		assert.Equal(t, int32(2), b.getSet("web").Status.Replicas)
		assert.Equal(t, int32(1), b.getSet("web").Status.FullyLabeledReplicas)

		b.relabel("one", map[string]string{"app": "old", "tier": "front", "debug": "yes"})
		b.Settle(time.Second)
		assert.Equal(t, []string{"debugged", "one", "other", "web-1", "web-2"}, b.PodNames())
		assert.Nil(t, metav1.GetControllerOf(b.Pod("one")))
		b.relabel("other", map[string]string{"app": "old", "tier": "back"})
		b.Settle(time.Second)
		assert.Len(t, b.PodNames(), 4, "it is adopted, and one is too many")
		b.scaleSet("web", 0)
		b.Settle(time.Second)
		assert.Equal(t, []string{"debugged", "one"}, b.PodNames())
	})
}

func TestTheStatusOfAReplicaSetCountsItsPodsAlsoThoseThatAreBeingDeleted(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.runReplicaSets()
		b.createSet(replicaSet("web", 3))
		b.Settle(time.Second)
		b.SetStatus("web-1", controllertest.Ready)
		b.relabel("web-2", map[string]string{"app": "web"})
		b.changePod("web-3", func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/wait"} })
		b.DeletePod("web-3")
		b.Settle(time.Second)
		one, none := int32(1), int32(0)
		assert.Equal(t, appsv1.ReplicaSetStatus{Replicas: 3, FullyLabeledReplicas: 2, ReadyReplicas: 1, AvailableReplicas: 1,
			TerminatingReplicas: &one, ObservedGeneration: 1}, b.getSet("web").Status)
		b.changePod("web-3", func(pod *corev1.Pod) { pod.Finalizers = nil })
		b.scaleSet("web", 1)
		b.Settle(time.Second)
		assert.Equal(t, appsv1.ReplicaSetStatus{Replicas: 1, FullyLabeledReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
			TerminatingReplicas: &none, ObservedGeneration: 2}, b.getSet("web").Status)
	})
}

// It does not wait as what only the status tells of.
func TestALostPodIsReplacedAtOnce(t *testing.T) {
	for name, lose := range map[string]func(b *replicationBench){
		"it was deleted": func(b *replicationBench) { b.DeletePod("web-1") },
		"it is being deleted": func(b *replicationBench) {
			b.changePod("web-1", func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/wait"} })
			b.DeletePod("web-1")
		},
		"it has failed": func(b *replicationBench) {
			b.SetStatus("web-1", func(status *corev1.PodStatus) { status.Phase = corev1.PodFailed })
		},
		"it is not selected": func(b *replicationBench) { b.relabel("web-1", nil) },
		"another one owns it": func(b *replicationBench) {
			b.changePod("web-1", func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "other" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			withReplicationBench(t, func(t *testing.T, b *replicationBench) {
				b.runReplicaSets()
				rs := b.createSet(replicaSet("web", 2))
				b.Settle(time.Second)
				lose(b)
				b.Settle(50 * time.Millisecond)
				own := 0
				for _, pod := range b.Pods() {
					if owner := metav1.GetControllerOf(pod); owner != nil && owner.UID == rs.UID && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed {
						own++
					}
				}
				assert.Equal(t, 2, own)
			})
		})
	}
}

// K108.
func TestManyPodsThatBecomeReadyAtOnceAreToldAtOnce(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.runReplicaSets()
		b.createSet(replicaSet("web", 30))
		b.Settle(time.Second)
		var written atomic.Int64
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if strings.HasSuffix(req.URL.Path, "/replicasets/web/status") {
				written.Add(1)
			}
			next.ServeHTTP(w, req)
		})
		for _, name := range b.PodNames() {
			b.SetStatus(name, controllertest.Ready)
			time.Sleep(time.Millisecond)
		}
		b.Settle(time.Second)
		assert.Equal(t, int32(30), b.getSet("web").Status.ReadyReplicas)
		assert.Equal(t, int64(1), written.Load())
	})
}

// K108.
func TestARefusalIsAConditionUntilItIsOver(t *testing.T) {
	type condition struct {
		status                corev1.ConditionStatus
		reason, message, kind string
	}
	for kind, set := range map[string]struct {
		run        func(b *replicationBench) (stop func())
		create     func(b *replicationBench)
		scale      func(b *replicationBench, name string, replicas int32)
		conditions func(b *replicationBench) []condition
	}{
		"a replication controller": {(*replicationBench).run, func(b *replicationBench) { b.create("web", 2) }, (*replicationBench).scale, func(b *replicationBench) (all []condition) {
			for _, c := range b.get("web").Status.Conditions {
				assert.False(b.T, c.LastTransitionTime.IsZero())
				all = append(all, condition{c.Status, c.Reason, c.Message, string(c.Type)})
			}
			return all
		}},
		"a replica set": {(*replicationBench).runReplicaSets, func(b *replicationBench) { b.createSet(replicaSet("web", 2)) }, (*replicationBench).scaleSet, func(b *replicationBench) (all []condition) {
			for _, c := range b.getSet("web").Status.Conditions {
				assert.False(b.T, c.LastTransitionTime.IsZero())
				all = append(all, condition{c.Status, c.Reason, c.Message, string(c.Type)})
			}
			return all
		}},
	} {
		t.Run(kind, func(t *testing.T) {
			withReplicationBench(t, func(t *testing.T, b *replicationBench) {
				var asked atomic.Int64
				refuse := func(number int, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
					asked.Store(int64(number))
					controllertest.Refuse(w, http.StatusForbidden, "Forbidden", fmt.Sprint("no ", number))
				}
				b.InterceptWrites("/pods", refuse)
				set.run(b)
				set.create(b)
				b.Settle(time.Minute)
				assert.Equal(t, []condition{{corev1.ConditionTrue, "FailedCreate", "no 1", "ReplicaFailure"}}, set.conditions(b))
				assert.Greater(t, asked.Load(), int64(1))
				b.InterceptWrites("/pods", func(int, http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) })
				b.Settle(2 * time.Minute)
				assert.Len(t, set.conditions(b), 1, "a lost answer says nothing of it")
				b.Intercept(nil)
				b.Settle(2 * time.Minute)
				assert.Len(t, b.PodNames(), 2)
				assert.Empty(t, set.conditions(b))

				b.InterceptWrites("/pods", refuse)
				set.scale(b, "web", 1)
				b.Settle(time.Second)
				assert.Equal(t, []condition{{corev1.ConditionTrue, "FailedDelete", "no 1", "ReplicaFailure"}}, set.conditions(b))
				b.Intercept(nil)
				b.Settle(time.Minute)
				assert.Empty(t, set.conditions(b))
			})
		})
	}
}

func TestAReplicaSetThatIsBeingDeletedOnlyTellsItsStatus(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.runReplicaSets()
		b.createSet(replicaSet("web", 3))
		b.Settle(time.Second)
		foreground := metav1.DeletePropagationForeground
		require.NoError(t, b.API.ReplicaSets().Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &foreground}))
		deleted := b.getSet("web")
		require.NotNil(t, deleted.DeletionTimestamp)
		b.createPod("one", map[string]string{"app": "web"})
		b.relabel("web-1", nil)
		b.DeletePod("web-2")
		b.Settle(time.Minute)
		assert.Equal(t, []string{"one", "web-1", "web-3"}, b.PodNames())
		assert.Empty(t, b.Pod("one").OwnerReferences)
		assert.Equal(t, deleted.UID, metav1.GetControllerOf(b.Pod("web-1")).UID)
		assert.Equal(t, int32(1), b.getSet("web").Status.Replicas)
	})
}

func TestNothingIsToldOfANamespaceThatIsBeingDeleted(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		_, err := b.API.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going"}})
		require.NoError(t, err)
		b.API = b.API.In("going")
		b.createSet(replicaSet("web", 5))
		require.NoError(t, b.API.Namespaces().Delete(t.Context(), "going", metav1.DeleteOptions{}))
		var asked atomic.Int64
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			asked.Store(int64(number))
			next.ServeHTTP(w, req)
		})
		b.runReplicaSets()
		b.Settle(10 * time.Second)
		assert.Empty(t, b.PodNames())
		assert.Empty(t, b.TakeEvents())
		assert.Empty(t, b.getSet("web").Status.Conditions)
		assert.Positive(t, asked.Load())
		assert.LessOrEqual(t, asked.Load(), int64(12), "one request each second")
	})
}

func TestAReplicaSetAndAReplicationControllerOfOneNameHaveTheirOwnPods(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.create("web", 2)
		b.createSet(replicaSet("web", 2))
		b.run()
		b.runReplicaSets()
		b.Settle(5 * time.Second)
		owners := map[string]int{}
		for _, pod := range b.Pods() {
			owners[metav1.GetControllerOf(pod).Kind]++
		}
		assert.Equal(t, map[string]int{"ReplicationController": 2, "ReplicaSet": 2}, owners)
		assert.Equal(t, []string{"web-1", "web-2", "web-3", "web-4"}, b.PodNames())
	})
}

func TestAPodOfAReplicaSetOfAnotherGroupIsLeftAlone(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		pod, yes := replicationPod("one", map[string]string{"app": "web"}), true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "ReplicaSet", Name: "web", UID: "other", Controller: &yes}}
		_, err := b.API.Pods().Create(t.Context(), pod)
		require.NoError(t, err)
		b.createSet(replicaSet("web", 1))
		b.runReplicaSets()
		b.Settle(time.Second)
		assert.Equal(t, []string{"one", "web-1"}, b.PodNames())
		assert.Equal(t, pod.OwnerReferences, b.Pod("one").OwnerReferences)
	})
}

// today names pods at random.
func TestTheReplicaSetOfTodaysControllerIsTakenOver(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		rs := replicaSet("web", 2)
		rs = b.createSet(rs)
		pod := replicationPod("web-x7k2p", map[string]string{"app": "web", "tier": "front"})
		pod.GenerateName = "web-"
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		_, err := b.API.Pods().Create(t.Context(), pod)
		require.NoError(t, err)
		rs.Status = appsv1.ReplicaSetStatus{Replicas: 1, ObservedGeneration: 1, Conditions: []appsv1.ReplicaSetCondition{
			{Type: "Other", Status: corev1.ConditionTrue}, {Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate"}}}
		_, err = b.API.ReplicaSets().UpdateStatus(t.Context(), rs)
		require.NoError(t, err)
		b.runReplicaSets()
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-x7k2p"}, b.PodNames())
		assert.Equal(t, []appsv1.ReplicaSetCondition{{Type: "Other", Status: corev1.ConditionTrue}}, b.getSet("web").Status.Conditions)
	})
}

// The two sets are of one deployment.
func TestPodsOnCrowdedNodesAreDeletedFirst(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		for _, name := range []string{"a", "b"} {
			_, err := b.API.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
			require.NoError(t, err)
		}
		yes := true
		for name, replicas := range map[string]int32{"old": 1, "new": 2, "stranger": 3} {
			rs := replicaSet(name, replicas)
			if name != "stranger" {
				rs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d", Controller: &yes}}
			}
			b.createSet(rs)
		}
		b.runReplicaSets()
		b.Settle(time.Second)
		for name, node := range map[string]string{"old-1": "b", "new-1": "a", "new-2": "b", "stranger-1": "a", "stranger-2": "a", "stranger-3": "b"} {
			require.NoError(t, b.API.Pods().Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}))
			b.SetStatus(name, controllertest.Ready)
		}
		b.Settle(time.Second)
		b.scaleSet("new", 1)
		b.scaleSet("stranger", 1)
		b.Settle(time.Second)
		names := b.PodNames()
		assert.Subset(t, names, []string{"new-1", "old-1"}, "there are two of the deployment on b")
		assert.Len(t, names, 3)
	})
}
