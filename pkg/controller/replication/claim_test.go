package replication_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/master/controllertest"
)

func TestPodsWithoutAControllerAreAdopted(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.createPod("one", map[string]string{"app": "web"})
		b.createPod("other", map[string]string{"app": "db"})
		rc := b.create("web", 2)
		b.Settle(time.Second)
		assert.Equal(t, []string{"one", "other", "web-1"}, b.PodNames())
		owner := metav1.GetControllerOf(b.Pod("one"))
		require.NotNil(t, owner)
		assert.Equal(t, rc.UID, owner.UID)
		assert.True(t, *owner.BlockOwnerDeletion)
		assert.Nil(t, metav1.GetControllerOf(b.Pod("other")))

		b.relabel("other", map[string]string{"app": "web"})
		b.Settle(2 * time.Second)
		assert.Len(t, b.PodNames(), 2, "one too many is deleted")
	})
}

// The garbage collector has not come yet.
func TestAControllerThatIsMadeAgainAdoptsThePodsOfTheOneBefore(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		before := b.create("web", 3)
		b.Settle(time.Second)
		background := metav1.DeletePropagationBackground
		require.NoError(t, b.API.ReplicationControllers().Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &background}))
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.PodNames())
		assert.Equal(t, before.UID, metav1.GetControllerOf(b.Pod("web-1")).UID)

		again := b.create("web", 3)
		b.Settle(2 * time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.PodNames())
		for _, name := range b.PodNames() {
			assert.Equal(t, []metav1.OwnerReference{*metav1.NewControllerRef(again, corev1.SchemeGroupVersion.WithKind("ReplicationController"))}, b.Pod(name).OwnerReferences)
		}
	})
}

func TestAnAdoptedPodKeepsItsOtherOwners(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		pod := replicationPod("one", map[string]string{"app": "web"})
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "u"}
		pod.OwnerReferences = []metav1.OwnerReference{other}
		_, err := b.API.Pods().Create(t.Context(), pod)
		require.NoError(t, err)
		b.create("web", 1)
		b.Settle(time.Second)
		require.Len(t, b.Pod("one").OwnerReferences, 2)
		b.relabel("one", nil)
		b.Settle(time.Second)
		assert.Equal(t, []metav1.OwnerReference{other}, b.Pod("one").OwnerReferences)
	})
}

func TestAPodThatIsNotSelectedAnyMoreIsReleasedAndReplaced(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.Settle(time.Second)
		b.relabel("web-1", map[string]string{"debug": "yes"})
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2", "web-3"}, b.PodNames())
		assert.Empty(t, b.Pod("web-1").OwnerReferences)

		b.relabel("web-1", map[string]string{"app": "web"})
		b.Settle(time.Second)
		assert.Len(t, b.PodNames(), 2, "it is adopted again, and one is too many")
	})
}

func TestAPodThatHasEndedIsNotAdopted(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.createPod("one", map[string]string{"app": "web"})
		b.SetStatus("one", func(status *corev1.PodStatus) { status.Phase = corev1.PodSucceeded })
		b.create("web", 1)
		b.run()
		b.Settle(time.Second)
		assert.Equal(t, []string{"one", "web-1"}, b.PodNames())
		assert.Empty(t, b.Pod("one").OwnerReferences)
	})
}

func TestAPodOfAnotherControllerIsLeftAlone(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		yes := true
		pod := replicationPod("web-1", map[string]string{"app": "web"})
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "other", Controller: &yes}}
		_, err := b.API.Pods().Create(t.Context(), pod)
		require.NoError(t, err)
		b.run()
		b.create("web", 1)
		b.Settle(time.Second)
		assert.Equal(t, []string{"web-1", "web-2"}, b.PodNames())
		assert.Equal(t, pod.OwnerReferences, b.Pod("web-1").OwnerReferences)
	})
}

func TestTwoControllersOfOneSelectorDoNotFightOverPods(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		twin := replicationController("twin", 3)
		twin.Spec.Selector, twin.Spec.Template.Labels = map[string]string{"app": "web"}, map[string]string{"app": "web"}
		_, err := b.API.ReplicationControllers().Create(t.Context(), twin)
		require.NoError(t, err)
		b.Settle(time.Minute)
		assert.Equal(t, []string{"twin-1", "twin-2", "twin-3", "web-1", "web-2"}, b.PodNames())
	})
}

// The pod changes between the copy and the patch.
func TestAPodThatChangesMeanwhileIsNotAdoptedBlindly(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.createPod("one", map[string]string{"app": "web"})
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				b.relabel("one", nil)
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("web", 1)
		b.Settle(5 * time.Second)
		assert.Equal(t, []string{"one", "web-1"}, b.PodNames())
		assert.Empty(t, b.Pod("one").OwnerReferences)
	})
}

func TestALostAnswerOfAnAdoptionMakesNoSecondPod(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.createPod("one", map[string]string{"app": "web"})
		b.InterceptWrites("/pods", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				controllertest.LoseAnswer(w, req, next)
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		rc := b.create("web", 1)
		b.Settle(5 * time.Second)
		assert.Equal(t, []string{"one"}, b.PodNames())
		assert.Equal(t, rc.UID, metav1.GetControllerOf(b.Pod("one")).UID)
	})
}

func TestADeletedControllerLeavesItsPodsAndMakesNone(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.run()
		b.create("web", 2)
		b.Settle(time.Second)
		require.NoError(t, b.API.ReplicationControllers().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		b.DeletePod("web-1")
		b.createPod("later", map[string]string{"app": "web"})
		b.Settle(time.Minute)
		assert.Equal(t, []string{"later", "web-2"}, b.PodNames())
		assert.Empty(t, b.Pod("later").OwnerReferences)
	})
}

func TestAControllerThatIsBeingDeletedChangesNothing(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		rc := replicationController("web", 2)
		rc.Finalizers = []string{"example.com/wait"}
		_, err := b.API.ReplicationControllers().Create(t.Context(), rc)
		require.NoError(t, err)
		require.NoError(t, b.API.ReplicationControllers().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		require.NotNil(t, b.get("web").DeletionTimestamp)
		b.createPod("one", map[string]string{"app": "web"})
		b.run()
		b.Settle(time.Minute)
		assert.Equal(t, []string{"one"}, b.PodNames())
		assert.Empty(t, b.Pod("one").OwnerReferences)
	})
}

// The copy of the controllers is behind: their watch says nothing any more.
func TestNothingIsDoneForAControllerThatIsGoneOnTheServerAlready(t *testing.T) {
	withReplicationBench(t, func(t *testing.T, b *replicationBench) {
		b.BlindTo("replicationcontrollers")
		b.create("web", 1)
		b.run()
		b.Settle(time.Second)
		require.NoError(t, b.API.ReplicationControllers().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		b.DeletePod("web-1")
		b.createPod("one", map[string]string{"app": "web"})
		b.Settle(time.Minute)
		assert.Equal(t, []string{"one"}, b.PodNames())
		assert.Empty(t, b.Pod("one").OwnerReferences)
	})
}
