package scheduler

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
)

// bindOne binds the pod of a key to the node where it is assumed. When the answer is lost the pod
// stays assumed there, and the same is sent again: a binding that arrives late overcommits nothing.
func (s *Scheduler) bindOne(ctx context.Context, key string) error {
	if pod, node := s.cache.assumed(key); pod != nil {
		return s.bind(ctx, pod, node)
	}
	return nil
}

func (s *Scheduler) bind(ctx context.Context, pod *corev1.Pod, node string) error {
	asked := time.Now()
	err := s.config.Client.In(pod.Namespace).Pods().Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	})
	if clientv1.IsRefusal(err) {
		return s.look(ctx, pod, node, asked, err)
	}
	if err != nil {
		return err
	}
	s.placed(pod, node, asked)
	return nil
}

// placed notes that a pod is bound. Its kubelet may tell of it since that was asked for.
func (s *Scheduler) placed(pod *corev1.Pod, node string, asked time.Time) {
	key := cache.Key(pod)
	s.cache.finishBinding(key, pod.UID)
	s.unschedulablePods.remove(key)
	record.At(asked, s.config.Recorder).Eventf(pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %s to %s", key, node)
}

// look finds out where a pod is whose binding was refused: an earlier binding may have succeeded.
func (s *Scheduler) look(ctx context.Context, pod *corev1.Pod, node string, asked time.Time, refusal error) error {
	key := cache.Key(pod)
	current, err := s.config.Client.In(pod.Namespace).Pods().Get(ctx, pod.Name)
	gone := apierrors.IsNotFound(err)
	if err != nil && !gone {
		return err
	}
	gone = gone || current.UID != pod.UID
	if !gone && current.Spec.NodeName == node {
		s.placed(pod, node, asked)
		return nil
	}
	s.cache.forget(key, pod.UID)
	s.unschedulablePods.changed()
	s.unschedulablePods.add(key, pod.UID, "", s.unschedulablePods.now()) // by then the informer, which may be behind, has shown what is there
	if gone || !s.isMine(current) || apierrors.IsConflict(refusal) {     // as of a host port that another client took
		return nil
	}
	return refusal
}
