package replication

import (
	"context"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/util/pods"
)

// Why there are never more pods than wanted, however stale the cache is:
//
// A sync begins when the cache has all pods whose creation was confirmed to earlier ones. A lost
// answer leaves at most one pod unknown. That one is requested again, before any other, until it
// exists. The names of pods are numbered, not random, and the server gives a name once, so a retry
// creates no second pod. Therefore the sync knows all pods that were created since the state of the
// cache, and it creates as many as are missing there.
//
// The next manager after a crash begins with a list that has all earlier pods. If a create of the
// first manager reaches the server even later, it mostly has the name that the next one requests
// too, since both take the lowest free numbers. Only if a lower number became free in between, there
// is one pod too many, until it is seen. The same holds for two managers at a time.

// maxPodPrefix is how much of a controller's name is in the names of its pods: with up to five
// digits they are as long as a host name may be, 63 bytes.
const maxPodPrefix = 57

// podPrefix returns what the names of a controller's pods begin with, before the number.
func podPrefix(rc *corev1.ReplicationController) string {
	name := rc.Name
	if len(name) > maxPodPrefix {
		name = strings.TrimRight(name[:maxPodPrefix], "-.")
	}
	return name + "-"
}

// plan returns the pods of a controller, and the names of missing ones, at most burstReplicas. Both
// are of one state of the server, or the error is errStale.
func (m *ReplicationManager) plan(rc *corev1.ReplicationController) (active []*corev1.Pod, missing []string, err error) {
	version := m.pods.Version()
	for range maxPlans {
		active = m.activePods(rc)
		missing = m.freeNames(rc, min(wantedReplicas(rc)-len(active), burstReplicas))
		now := m.pods.Version() // which waits for the end of a change
		if now == version {
			return active, missing, nil
		}
		version = now
	}
	return nil, nil, errStale
}

// maxPlans is how often plan tries, since pods may change meanwhile.
const maxPlans = 10

// activePods returns the pods of a controller that count.
func (m *ReplicationManager) activePods(rc *corev1.ReplicationController) (active []*corev1.Pod) {
	for _, pod := range m.pods.Store().ByIndex(ownerIndex, string(rc.UID)) {
		if pod.Namespace == rc.Namespace && isActive(pod) && pods.Selects(rc.Spec.Selector, pod.Labels) {
			active = append(active, pod)
		}
	}
	return active
}

// freeNames returns the names of the lowest numbers that no pod has. A name that was requested
// without an answer comes first.
func (m *ReplicationManager) freeNames(rc *corev1.ReplicationController, count int) (names []string) {
	isFree := func(name string) bool {
		_, taken := m.pods.Store().Get(cache.KeyOf(rc.Namespace, name))
		return !taken
	}
	unsettled := m.unsettledOf(rc)
	if count > 0 && unsettled != "" && isFree(unsettled) {
		names = append(names, unsettled)
	}
	prefix := podPrefix(rc)
	for number := 1; len(names) < count; number++ {
		if name := prefix + strconv.Itoa(number); name != unsettled && isFree(name) {
			names = append(names, name)
		}
	}
	return names
}

// createPods creates the pods of names, one after the other, until the server refuses one or the
// controller wants something else.
func (m *ReplicationManager) createPods(ctx context.Context, rc *corev1.ReplicationController, names []string) error {
	var expected []cache.Expectation
	var failed error
	for _, name := range names {
		if err := m.lookAhead(rc); err != nil {
			failed = err
			break
		}
		pod, err := m.createPod(ctx, rc, name)
		if pod != nil {
			expected = append(expected, m.pods.Shows(pod))
		}
		if err != nil {
			failed = err
		}
		if unlessStale(err) != nil {
			break
		}
	}
	if err := cache.Await(ctx, expected...); err != nil {
		return err
	}
	if failed == nil {
		m.queue.Add(cache.Key(rc)) // more may be missing, also one of these: handlers do not see a pod that came and went
	}
	return failed
}

// createPod creates the pod of a name. With errStale the name was taken: by the pod that it
// returns, or by one that is gone again.
func (m *ReplicationManager) createPod(ctx context.Context, rc *corev1.ReplicationController, name string) (*corev1.Pod, error) {
	pods := m.config.Client.In(rc.Namespace).Pods()
	pod, err := pods.Create(ctx, podOf(rc, name))
	isTaken := apierrors.IsAlreadyExists(err)
	if isTaken {
		pod, err = pods.Get(ctx, name)
	}
	m.noteAnswer(rc, name, err)
	switch {
	case isTaken && (err == nil || apierrors.IsNotFound(err)):
		return pod, errStale
	case err == nil:
		m.config.Recorder.Eventf(rc, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", name)
	case isAnswer(err):
		m.config.Recorder.Eventf(rc, corev1.EventTypeWarning, "FailedCreate", "Error creating: %s", err)
	}
	return pod, err
}

// podOf returns a pod of a controller's template.
func podOf(rc *corev1.ReplicationController, name string) *corev1.Pod {
	template := rc.Spec.Template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: rc.Namespace, Name: name, Labels: template.Labels, Annotations: template.Annotations,
			Finalizers: template.Finalizers, OwnerReferences: []metav1.OwnerReference{controllerReference(rc)}},
		Spec: template.Spec,
	}
}
