package replication

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/util"
)

const (
	// expectationTimeout is how long a sync waits for the cache.
	expectationTimeout = 5 * time.Minute
	// expectationPoll is the period in which it reads the cache meanwhile.
	expectationPoll = 10 * time.Millisecond
)

var errUnseen = errors.New("the informer has not shown within 5 minutes what was written")

// expectation reports whether the cache shows what was written.
type expectation func() bool

// await waits until the cache shows all that was written for a controller. Before that, nothing may
// be decided for it. If all workers wait, the cache is stale for all of them anyway.
func (m *ReplicationManager) await(ctx context.Context, expected []expectation) error {
	late := time.Now().Add(expectationTimeout)
	for _, seen := range expected {
		for !seen() {
			if time.Now().After(late) {
				return errUnseen
			}
			if !util.Sleep(ctx, expectationPoll) {
				return ctx.Err()
			}
		}
	}
	return nil
}

// hasPod expects a pod that was created.
func (m *ReplicationManager) hasPod(pod *corev1.Pod) expectation {
	return func() bool { return m.cached(pod) != nil || m.reached(pod.ResourceVersion) }
}

// hasController expects that a pod has a controller of a uid; it is empty for none.
func (m *ReplicationManager) hasController(pod *corev1.Pod, uid types.UID) expectation {
	return func() bool {
		cached := m.cached(pod)
		return cached == nil || controllerUID(cached) == uid || m.reached(pod.ResourceVersion)
	}
}

// isDeleted expects that a pod is gone, or is being deleted.
func (m *ReplicationManager) isDeleted(pod *corev1.Pod) expectation {
	return func() bool {
		cached := m.cached(pod)
		return cached == nil || cached.DeletionTimestamp != nil
	}
}

// hasStatus expects a status of a controller, if that still exists.
func (m *ReplicationManager) hasStatus(rc *corev1.ReplicationController) expectation {
	return func() bool {
		cached, exists := m.controllers.Store().Get(cache.Key(rc))
		return !exists || cached.UID != rc.UID || cached.ResourceVersion == rc.ResourceVersion || hasReached(m.controllers.Version(), rc.ResourceVersion)
	}
}

// cached returns the pod in the cache, or nil.
func (m *ReplicationManager) cached(pod *corev1.Pod) *corev1.Pod {
	if cached, exists := m.pods.Store().Get(cache.Key(pod)); exists && cached.UID == pod.UID {
		return cached
	}
	return nil
}

// reached reports whether the cache of the pods has all changes up to a version.
func (m *ReplicationManager) reached(version string) bool {
	return hasReached(m.pods.Version(), version)
}

// hasReached reports whether a cache of a version has all changes up to another one.
func hasReached(cached, version string) bool {
	order, err := resourceversion.CompareResourceVersion(cached, version)
	return err == nil && order >= 0
}

func controllerUID(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}
