package replication

import (
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
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

// plan returns the pods of an object that count, and the names of missing ones, at most burstReplicas. The names are
// looked for first: a pod that comes meanwhile counts, whether its name was passed over or not. The error is controller.ErrStale if
// a pod goes meanwhile.
func (m *ReplicationManager) plan(s *set) (active []*corev1.Pod, missing []string, err error) {
	howMany := func(active []*corev1.Pod) int { return max(0, min(s.replicas-len(active), burstReplicas)) }
	names := m.freeNames(s, howMany(m.activePods(s)))
	active = m.activePods(s)
	count := howMany(active)
	if len(names) < count {
		return nil, nil, controller.ErrStale
	}
	return active, names[:count], nil
}

// ownPods returns the pods of an object that it selects.
func (m *ReplicationManager) ownPods(s *set) []*corev1.Pod {
	return slices.DeleteFunc(controller.OwnedBy(m.pods.Store(), s), func(pod *corev1.Pod) bool { return !s.selects(pod) })
}

// activePods returns the pods of an object that count.
func (m *ReplicationManager) activePods(s *set) []*corev1.Pod {
	return slices.DeleteFunc(m.ownPods(s), func(pod *corev1.Pod) bool { return !controller.IsActive(pod) })
}

// freeNames returns the names of the lowest numbers that no pod has. A name that was requested
// without an answer comes first.
func (m *ReplicationManager) freeNames(s *set, count int) (names []string) {
	isFree := func(name string) bool {
		_, taken := m.pods.Store().Get(cache.KeyOf(s.GetNamespace(), name))
		return !taken
	}
	unsettled := m.unsettledOf(s)
	if count > 0 && unsettled != "" && isFree(unsettled) {
		names = append(names, unsettled)
	}
	prefix := controller.PodPrefix(s.GetName(), "-")
	for number := 1; len(names) < count; number++ {
		if name := prefix + strconv.Itoa(number); name != unsettled && isFree(name) {
			names = append(names, name)
		}
	}
	return names
}

// createPods creates the pods of names, one after the other, until the server refuses one or the
// object wants something else.
func (m *ReplicationManager) createPods(ctx context.Context, s *set, names []string) error {
	var expected []controller.Expectation
	var failed error
	for _, name := range names {
		if err := m.lookAhead(s); err != nil {
			failed = err
			break
		}
		pod, err := m.createPod(ctx, s, name)
		if pod != nil {
			expected = append(expected, controller.Shows(m.pods, pod))
		}
		if err != nil {
			failed = err
		}
		if unlessStale(err) != nil {
			break
		}
	}
	if err := controller.Await(ctx, expected...); err != nil {
		return err
	}
	if failed == nil {
		m.Queue.Add(cache.Key(s)) // more may be missing, also one of these: handlers do not see a pod that came and went
	}
	return failed
}

// createPod creates the pod of a name. With controller.ErrStale the name was taken: by the pod that it
// returns, or by one that is gone again.
func (m *ReplicationManager) createPod(ctx context.Context, s *set, name string) (*corev1.Pod, error) {
	pods := m.Client.In(s.GetNamespace()).Pods()
	pod, err := pods.Create(ctx, m.podOf(s, name))
	isTaken := apierrors.IsAlreadyExists(err)
	if isTaken {
		pod, err = pods.Get(ctx, name)
	}
	m.noteAnswer(s, name, err)
	switch {
	case isTaken && (err == nil || apierrors.IsNotFound(err)):
		return pod, controller.ErrStale
	case err == nil:
		m.Recorder.Eventf(s.Object, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", name)
	case clientv1.IsAnswer(err) && !isOfNamespace(err):
		m.Recorder.Eventf(s.Object, corev1.EventTypeWarning, failedCreate, "Error creating: %s", err)
		err = failure{failedCreate, err}
	}
	return pod, err
}

// isOfNamespace reports whether nothing can be created because the namespace is being deleted, and the object with it.
func isOfNamespace(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// podOf returns a pod of an object's template.
func (m *ReplicationManager) podOf(s *set, name string) *corev1.Pod {
	template := s.template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.GetNamespace(), Name: name, Labels: template.Labels, Annotations: template.Annotations,
			Finalizers: template.Finalizers, OwnerReferences: []metav1.OwnerReference{m.controllerReference(s)}},
		Spec: template.Spec,
	}
}

// noteAnswer records the result of a request to create a pod of an object. A refusal says nothing
// about an earlier request for the same pod: a quota may be full because of that.
func (m *ReplicationManager) noteAnswer(s *set, pod string, err error) {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		m.unsettled.Delete(s.GetUID())
	case !clientv1.IsRefusal(err):
		m.unsettled.Store(s.GetUID(), pod)
	}
}

// unsettledOf returns the name of the last requested pod if it is unknown whether it was created, or
// nothing.
func (m *ReplicationManager) unsettledOf(s *set) string {
	if name, exists := m.unsettled.Load(s.GetUID()); exists {
		return name.(string)
	}
	return ""
}
