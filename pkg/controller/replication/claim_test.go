package replication_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodsWithoutAControllerAreAdopted(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.createPod("one", map[string]string{"app": "web"})
		b.createPod("other", map[string]string{"app": "db"})
		rc := b.create("web", 2)
		b.settle(time.Second)
		assert.Equal(t, []string{"one", "other", "web-1"}, b.names())
		owner := metav1.GetControllerOf(b.pod("one"))
		require.NotNil(t, owner)
		assert.Equal(t, rc.UID, owner.UID)
		assert.True(t, *owner.BlockOwnerDeletion)
		assert.Nil(t, metav1.GetControllerOf(b.pod("other")))

		b.relabel("other", map[string]string{"app": "web"})
		b.settle(2 * time.Second)
		assert.Len(t, b.names(), 2, "one too many is deleted")
	})
}

// The garbage collector has not come yet.
func TestAControllerThatIsMadeAgainAdoptsThePodsOfTheOneBefore(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		before := b.create("web", 3)
		b.settle(time.Second)
		background := metav1.DeletePropagationBackground
		require.NoError(t, b.client.ReplicationControllers().Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &background}))
		b.settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.names())
		assert.Equal(t, before.UID, metav1.GetControllerOf(b.pod("web-1")).UID)

		again := b.create("web", 3)
		b.settle(2 * time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.names())
		for _, name := range b.names() {
			assert.Equal(t, []metav1.OwnerReference{*metav1.NewControllerRef(again, corev1.SchemeGroupVersion.WithKind("ReplicationController"))}, b.pod(name).OwnerReferences)
		}
	})
}

func TestAnAdoptedPodKeepsItsOtherOwners(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		pod := replicationPod("one", map[string]string{"app": "web"})
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "u"}
		pod.OwnerReferences = []metav1.OwnerReference{other}
		_, err := b.client.Pods().Create(t.Context(), pod)
		require.NoError(t, err)
		b.create("web", 1)
		b.settle(time.Second)
		require.Len(t, b.pod("one").OwnerReferences, 2)
		b.relabel("one", nil)
		b.settle(time.Second)
		assert.Equal(t, []metav1.OwnerReference{other}, b.pod("one").OwnerReferences)
	})
}

func TestAPodThatIsNotSelectedAnyMoreIsReleasedAndReplaced(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.settle(time.Second)
		b.relabel("web-1", map[string]string{"debug": "yes"})
		b.settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.names())
		assert.Empty(t, b.pod("web-1").OwnerReferences)

		b.relabel("web-1", map[string]string{"app": "web"})
		b.settle(time.Second)
		assert.Len(t, b.names(), 2, "it is adopted again, and one is too many")
	})
}

func TestAPodThatHasEndedIsNotAdopted(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.createPod("one", map[string]string{"app": "web"})
		b.setStatus("one", func(status *corev1.PodStatus) { status.Phase = corev1.PodSucceeded })
		b.create("web", 1)
		b.run()
		b.settle(time.Second)
		assert.Equal(t, []string{"one", "web-1"}, b.names())
		assert.Empty(t, b.pod("one").OwnerReferences)
	})
}

func TestAPodOfAnotherControllerIsLeftAlone(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		yes := true
		pod := replicationPod("web-1", map[string]string{"app": "web"})
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "other", Controller: &yes}}
		_, err := b.client.Pods().Create(t.Context(), pod)
		require.NoError(t, err)
		b.run()
		b.create("web", 1)
		b.settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2"}, b.names())
		assert.Equal(t, pod.OwnerReferences, b.pod("web-1").OwnerReferences)
	})
}

func TestTwoControllersOfOneSelectorDoNotFightOverPods(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		twin := replicationController("twin", 3)
		twin.Spec.Selector, twin.Spec.Template.Labels = map[string]string{"app": "web"}, map[string]string{"app": "web"}
		_, err := b.client.ReplicationControllers().Create(t.Context(), twin)
		require.NoError(t, err)
		b.settle(time.Minute)
		assert.Equal(t, []string{"twin-1", "twin-2", "twin-3", "web-1", "web-2"}, b.names())
	})
}

// The pod changes between the copy and the patch.
func TestAPodThatChangesMeanwhileIsNotAdoptedBlindly(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.createPod("one", map[string]string{"app": "web"})
		b.interceptPods(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				b.relabel("one", nil)
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 1)
		b.settle(5 * time.Second)
		assert.Equal(t, []string{"one", "web-1"}, b.names())
		assert.Empty(t, b.pod("one").OwnerReferences)
	})
}

func TestALostAnswerOfAnAdoptionMakesNoSecondPod(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.createPod("one", map[string]string{"app": "web"})
		b.interceptPods(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				loseReplicationAnswer(req, next)
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		rc := b.create("web", 1)
		b.settle(5 * time.Second)
		assert.Equal(t, []string{"one"}, b.names())
		assert.Equal(t, rc.UID, metav1.GetControllerOf(b.pod("one")).UID)
	})
}

func TestADeletedControllerLeavesItsPodsAndMakesNone(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.settle(time.Second)
		require.NoError(t, b.client.ReplicationControllers().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		b.deletePod("web-1")
		b.createPod("later", map[string]string{"app": "web"})
		b.settle(time.Minute)
		assert.Equal(t, []string{"later", "web-2"}, b.names())
		assert.Empty(t, b.pod("later").OwnerReferences)
	})
}

func TestAControllerThatIsBeingDeletedChangesNothing(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		rc := replicationController("web", 2)
		rc.Finalizers = []string{"example.com/wait"}
		_, err := b.client.ReplicationControllers().Create(t.Context(), rc)
		require.NoError(t, err)
		require.NoError(t, b.client.ReplicationControllers().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		require.NotNil(t, b.get("web").DeletionTimestamp)
		b.createPod("one", map[string]string{"app": "web"})
		b.run()
		b.settle(time.Minute)
		assert.Equal(t, []string{"one"}, b.names())
		assert.Empty(t, b.pod("one").OwnerReferences)
	})
}

// The copy of the controllers is behind: their watch says nothing any more.
func TestNothingIsDoneForAControllerThatIsGoneOnTheServerAlready(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.blindTo("replicationcontrollers")
		b.create("web", 1)
		b.run()
		b.settle(time.Second)
		require.NoError(t, b.client.ReplicationControllers().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		b.deletePod("web-1")
		b.createPod("one", map[string]string{"app": "web"})
		b.settle(time.Minute)
		assert.Equal(t, []string{"one"}, b.names())
		assert.Empty(t, b.pod("one").OwnerReferences)
	})
}
