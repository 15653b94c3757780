package replication

import (
	"context"
	"errors"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
)

const (
	// expectationTimeout is how long it is waited for the copy of the pods.
	expectationTimeout = 5 * time.Minute
	// expectationPoll is how often it is looked at meanwhile.
	expectationPoll = 10 * time.Millisecond
)

var errUnseen = errors.New("the informer has not shown within 5 minutes what was written")

// expectation reports whether the copy shows what was written.
type expectation func() bool

// await waits until the copy shows all that was written for a controller: nothing is decided for it
// before. A worker that waits holds up others only if all do, and then they would see no more.
func (m *ReplicationManager) await(ctx context.Context, expected []expectation) error {
	late := time.Now().Add(expectationTimeout)
	for _, seen := range expected {
		for !seen() {
			if time.Now().After(late) {
				return errUnseen
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(expectationPoll):
			}
		}
	}
	return nil
}

// hasPod expects a pod that was made.
func (m *ReplicationManager) hasPod(pod *corev1.Pod) expectation {
	return func() bool { return m.copied(pod) != nil || m.reached(pod.ResourceVersion) }
}

// hasController expects that a pod has a controller of a uid; it is empty for none.
func (m *ReplicationManager) hasController(pod *corev1.Pod, uid types.UID) expectation {
	return func() bool {
		copied := m.copied(pod)
		return copied == nil || controllerUID(copied) == uid || m.reached(pod.ResourceVersion)
	}
}

// isDeleted expects that a pod is gone, or is being deleted.
func (m *ReplicationManager) isDeleted(pod *corev1.Pod) expectation {
	return func() bool {
		copied := m.copied(pod)
		return copied == nil || copied.DeletionTimestamp != nil
	}
}

// hasStatus expects a status of a controller, if that is still there.
func (m *ReplicationManager) hasStatus(rc *corev1.ReplicationController) expectation {
	return func() bool {
		copied, exists := m.controllers.Store().Get(cache.Key(rc))
		return !exists || copied.UID != rc.UID || copied.ResourceVersion == rc.ResourceVersion || hasReached(m.controllers.Version(), rc.ResourceVersion)
	}
}

// copied returns the copy of a pod, or nil.
func (m *ReplicationManager) copied(pod *corev1.Pod) *corev1.Pod {
	if copied, exists := m.pods.Store().Get(cache.Key(pod)); exists && copied.UID == pod.UID {
		return copied
	}
	return nil
}

// reached reports whether the copy of the pods has all changes up to a version.
func (m *ReplicationManager) reached(version string) bool {
	return hasReached(m.pods.Version(), version)
}

// hasReached reports whether a copy of a version has all changes up to another one.
func hasReached(copied, version string) bool {
	wanted, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return false
	}
	has, err := strconv.ParseUint(copied, 10, 64)
	return err == nil && has >= wanted
}

func controllerUID(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}
