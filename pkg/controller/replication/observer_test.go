package replication_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	clientv1 "kube2014/pkg/client/v1"
)

// replicationMoment is what there was of a controller after a change.
type replicationMoment struct {
	version uint64
	change  string
	active  int // pods
	// bound is how many pods there may be: the most that were wanted since the manager told that
	// there are as many as wanted.
	bound int
}

// change is an event of a watch.
type replicationChange struct {
	version uint64
	rc      *corev1.ReplicationController // nil: of a pod
	pod     *corev1.Pod
	deleted bool
}

func (c replicationChange) String() string {
	if c.rc != nil {
		return fmt.Sprintf("generation %d wants %d, told %d of generation %d", c.rc.Generation, *c.rc.Spec.Replicas, c.rc.Status.Replicas,
			c.rc.Status.ObservedGeneration)
	}
	return fmt.Sprintf("%s %s deleted=%t %v", c.pod.Name, c.pod.Status.Phase, c.deleted, c.pod.Labels)
}

// everything returns all events of a watch from the beginning of the server.
func everything[T clientv1.Object](b *replicationBench, resource clientv1.Resource[T], add func(version uint64, deleted bool, object T)) {
	ctx, cancel := context.WithTimeout(b.T.Context(), time.Second)
	defer cancel()
	for event, err := range resource.Watch(ctx, metav1.ListOptions{ResourceVersion: b.beginning}) {
		if ctx.Err() != nil {
			return
		}
		require.NoError(b.T, err)
		version, err := strconv.ParseUint(event.Object.GetResourceVersion(), 10, 64)
		require.NoError(b.T, err)
		add(version, event.Type == watch.Deleted, event.Object)
	}
}

// history returns what there was of a controller after each change, from the beginning of the server.
func (b *replicationBench) history(name string) (moments []replicationMoment) {
	b.T.Helper()
	var changes []replicationChange
	everything(b, b.API.Pods().Resource, func(version uint64, deleted bool, pod *corev1.Pod) {
		changes = append(changes, replicationChange{version: version, pod: pod, deleted: deleted})
	})
	everything(b, b.API.ReplicationControllers().Resource, func(version uint64, deleted bool, rc *corev1.ReplicationController) {
		if rc.Name == name && !deleted {
			changes = append(changes, replicationChange{version: version, rc: rc})
		}
	})
	slices.SortFunc(changes, func(a, b replicationChange) int { return cmp.Compare(a.version, b.version) })
	var rc *corev1.ReplicationController
	active, bound := map[string]bool{}, 0
	for _, change := range changes {
		if change.rc != nil {
			rc = change.rc
			bound = max(bound, int(*rc.Spec.Replicas))
		} else if pod := change.pod; rc != nil && !change.deleted && isActivePodOf(rc, pod) {
			active[pod.Name] = true
		} else {
			delete(active, pod.Name)
		}
		if rc == nil {
			continue
		}
		if rc.Status.ObservedGeneration == rc.Generation && rc.Status.Replicas == *rc.Spec.Replicas && len(active) == int(*rc.Spec.Replicas) {
			bound = len(active)
		}
		moments = append(moments, replicationMoment{change.version, change.String(), len(active), bound})
	}
	return moments
}

func isActivePodOf(rc *corev1.ReplicationController, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.UID == rc.UID && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed &&
		pod.Status.Phase != corev1.PodSucceeded && labels.SelectorFromSet(rc.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// requireNeverTooMany checks that a controller never had more pods than wanted, and returns how
// many it had after each change.
func (b *replicationBench) requireNeverTooMany(name string) (counts []int) {
	b.T.Helper()
	history := b.history(name)
	for i, moment := range history {
		require.LessOrEqual(b.T, moment.active, moment.bound, "after %v", history[max(0, i-20):i+1])
		counts = append(counts, moment.active)
	}
	require.NotEmpty(b.T, counts)
	return counts
}
