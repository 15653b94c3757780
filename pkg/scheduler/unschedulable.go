package scheduler

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/util/pods"
)

// unschedulable lets a pod that fits nowhere wait, and reports why.
func (s *Scheduler) unschedulable(ctx context.Context, pod *corev1.Pod, why string, since uint64) error {
	if s.waiting.add(cache.Key(pod), pod.UID, why, since) {
		s.config.Recorder.Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "%s", why)
	}
	patch := patchFor(pod, why, metav1.Now())
	if patch == nil {
		return nil
	}
	_, err := s.config.Client.In(pod.Namespace).Pods().Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // it is gone, or has changed: the informer will show it
		return nil
	}
	return err
}

// patchFor returns a patch that says in the status of a pod why it is not placed, nil if the status
// says so already.
func patchFor(pod *corev1.Pod, why string, now metav1.Time) []byte {
	next := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why,
		ObservedGeneration: pod.Generation, LastTransitionTime: now}
	if last := pods.Condition(pod.Status.Conditions, next.Type); last != nil && last.Status == next.Status {
		next.LastTransitionTime, next.LastProbeTime = last.LastTransitionTime, last.LastProbeTime
		if *last == next {
			return nil
		}
	}
	type object = map[string]interface{}
	patch, _ := json.Marshal(object{ // it cannot fail: all of it is strings and numbers
		"metadata": object{"resourceVersion": pod.ResourceVersion}, // it may have a node by now
		"status":   object{"conditions": []corev1.PodCondition{next}},
	})
	return patch
}
