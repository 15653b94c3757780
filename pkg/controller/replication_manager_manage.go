package controller

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
)

// manage makes or deletes pods until a controller has as many as it wants. It stops at the first
// error.
func (m *ReplicationManager) manage(ctx context.Context, rc *corev1.ReplicationController, mine []*corev1.Pod, taken map[string]bool, expected *expectations) error {
	if err := m.deleteAgain(ctx, rc, expected); err != nil {
		return err
	}
	mine = expected.without(mine)
	missing := wanted(rc) - len(mine)
	if missing < 0 {
		return m.deleteAll(ctx, rc, victims(mine, -missing), expected)
	}
	for _, name := range podNames(rc.Name, missing, taken, slices.Sorted(maps.Keys(expected.reserved))) {
		if m.hasChanged(rc) { // it comes again
			return nil
		}
		if err := m.create(ctx, rc, name, expected); err != nil {
			return err
		}
	}
	return nil
}

// wanted returns how many pods a controller wants.
func wanted(rc *corev1.ReplicationController) int {
	if rc.Spec.Replicas == nil { // a server has set it
		return 1
	}
	return int(*rc.Spec.Replicas)
}

// hasChanged reports whether a controller has another spec now, or has gone.
func (m *ReplicationManager) hasChanged(rc *corev1.ReplicationController) bool {
	current, exists := m.controllers.Store().Get(cache.Key(rc))
	return !exists || current.UID != rc.UID || current.Generation != rc.Generation || current.DeletionTimestamp != nil
}

// create makes a pod of a name. The name is reserved until it is known what has become of that.
func (m *ReplicationManager) create(ctx context.Context, rc *corev1.ReplicationController, name string, expected *expectations) error {
	_, again := expected.reserved[name]
	expected.reserved[name] = time.Now()
	pod, err := m.config.Client.In(rc.Namespace).Pods().Create(ctx, makePod(rc, name))
	switch {
	case err == nil:
		expected.create(pod)
		m.config.Recorder.Eventf(rc, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", name)
		return nil
	case apierrors.IsAlreadyExists(err):
		return m.lookAt(ctx, rc, name, expected)
	case wasRefused(err):
		if !again { // an earlier request may still be carried out
			delete(expected.reserved, name)
		}
		m.config.Recorder.Eventf(rc, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
	}
	return err
}

// lookAt lets the informer show a pod whose name is taken. It may be this controller's, by an
// earlier request, or another one's; then the next name is taken when the informer shows it.
func (m *ReplicationManager) lookAt(ctx context.Context, rc *corev1.ReplicationController, name string, expected *expectations) error {
	pod, err := m.config.Client.In(rc.Namespace).Pods().Get(ctx, name)
	if apierrors.IsNotFound(err) { // it has gone meanwhile
		delete(expected.reserved, name)
		return errStale
	}
	if err == nil {
		expected.create(pod)
	}
	return err
}

// deleteAgain sends deletes again that were not answered.
func (m *ReplicationManager) deleteAgain(ctx context.Context, rc *corev1.ReplicationController, expected *expectations) error {
	for uid, was := range expected.deleted {
		if was.done {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: rc.Namespace, Name: was.name, UID: uid}}
		if err := m.delete(ctx, rc, pod, expected); err != nil {
			return err
		}
	}
	return nil
}

func (m *ReplicationManager) deleteAll(ctx context.Context, rc *corev1.ReplicationController, pods []*corev1.Pod, expected *expectations) error {
	for _, pod := range pods {
		if m.hasChanged(rc) {
			return nil
		}
		if err := m.delete(ctx, rc, pod, expected); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes a pod. Until that is answered it is the one to be deleted.
func (m *ReplicationManager) delete(ctx context.Context, rc *corev1.ReplicationController, pod *corev1.Pod, expected *expectations) error {
	expected.deleted[pod.UID] = deletion{name: pod.Name, since: time.Now()}
	err := m.config.Client.In(pod.Namespace).Pods().Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	switch {
	case err == nil:
		m.config.Recorder.Eventf(rc, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it has gone
	case wasRefused(err):
		delete(expected.deleted, pod.UID)
		m.config.Recorder.Eventf(rc, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
		return err
	default:
		return err
	}
	expected.deleted[pod.UID] = deletion{name: pod.Name, done: true, since: time.Now()}
	return nil
}

// makePod makes a controller's pod.
func makePod(rc *corev1.ReplicationController, name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: rc.Namespace, Name: name,
		OwnerReferences: []metav1.OwnerReference{*referenceToOwner(rc)}}}
	if template := rc.Spec.Template.DeepCopy(); template != nil {
		pod.Labels, pod.Annotations, pod.Finalizers, pod.Spec = template.Labels, template.Annotations, template.Finalizers, template.Spec
	}
	return pod
}

// wasRefused reports whether an error says that the server has not done what it was asked. All
// others may mean that it has.
func wasRefused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code/100 == 4 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}
