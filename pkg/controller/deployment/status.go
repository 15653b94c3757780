package deployment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
	"kube2014/pkg/util"
)

// The reasons of the condition Progressing after which something depends on them.
const (
	newSetAvailable  = "NewReplicaSetAvailable"
	deadlineExceeded = "ProgressDeadlineExceeded"
	isPaused         = "DeploymentPaused"
	setUpdated       = "ReplicaSetUpdated"
)

// updateStatus writes the status and the revision of a deployment, if they have changed, and waits until the cache shows that.
func (c *DeploymentController) updateStatus(ctx context.Context, r *rollout) error {
	now := time.Now()
	updated := *r.d
	updated.Status = r.status(now)
	updated.Annotations = maps.Clone(r.d.Annotations)
	if r.current != nil && revisionOf(r.current) > 0 && r.d.DeletionTimestamp == nil {
		metav1.SetMetaDataAnnotation(&updated.ObjectMeta, revisionAnnotation, r.current.Annotations[revisionAnnotation])
	}
	if progressing := find(&updated.Status, appsv1.DeploymentProgressing); progressing != nil && r.isLimited(progressing) {
		if left := r.deadline(progressing).Sub(now); left > 0 { // later it goes on with what it waits for
			c.Queue.AddAfter(cache.Key(r.d), left)
		}
	}
	if equality.Semantic.DeepEqual(updated.Status, r.d.Status) && maps.Equal(updated.Annotations, r.d.Annotations) {
		return nil
	}
	written, err := c.Client.In(r.d.Namespace).Deployments().UpdateStatus(ctx, &updated)
	if err != nil {
		return controller.OrStale(err)
	}
	return controller.Await(ctx, controller.Shows(c.deployments, written))
}

// counts returns the status of a deployment with the numbers of now, and the conditions of before.
func (r *rollout) counts() appsv1.DeploymentStatus {
	all := r.all()
	status := appsv1.DeploymentStatus{ObservedGeneration: r.d.Generation, CollisionCount: r.d.Status.CollisionCount,
		Conditions: slices.Clone(r.d.Status.Conditions), TerminatingReplicas: new(int32(sum(all, terminating)))}
	for _, set := range all {
		status.Replicas += set.Status.Replicas
		status.ReadyReplicas += set.Status.ReadyReplicas
		status.AvailableReplicas += set.Status.AvailableReplicas
	}
	if r.current != nil {
		status.UpdatedReplicas = r.current.Status.Replicas
	}
	status.UnavailableReplicas = int32(max(0, sum(all, replicas)-int(status.AvailableReplicas)))
	return status
}

// isComplete reports whether all wanted pods have the deployment's template and are available, and there are no others.
func (r *rollout) isComplete(status appsv1.DeploymentStatus) bool {
	wanted := int32(r.wanted())
	return status.UpdatedReplicas == wanted && status.Replicas == wanted && status.AvailableReplicas == wanted
}

// status returns the status of a deployment.
func (r *rollout) status(now time.Time) appsv1.DeploymentStatus {
	status := r.counts()
	if r.collided {
		status.CollisionCount = new(valueOf(status.CollisionCount, 0) + 1)
	}
	if _, least := r.limits(); int(status.AvailableReplicas) >= least {
		put(&status, appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
	} else {
		put(&status, appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.", now)
	}
	if r.d.DeletionTimestamp != nil {
		return status
	}
	if failure := r.failure(); failure != nil {
		put(&status, appsv1.DeploymentReplicaFailure, failure.Status, failure.Reason, failure.Message, now)
	} else {
		remove(&status, appsv1.DeploymentReplicaFailure)
	}
	if !hasDeadline(r.d) {
		remove(&status, appsv1.DeploymentProgressing)
	} else if is, reason, message := r.progress(&status, now); reason != "" {
		put(&status, appsv1.DeploymentProgressing, is, reason, message, now)
	}
	return status
}

// failure returns what the replica sets say of pods that could not be created or deleted, the current one first; nil: nothing.
func (r *rollout) failure() *appsv1.ReplicaSetCondition {
	for _, set := range slices.Backward(r.all()) {
		failure := util.Find(set.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure })
		if failure != nil {
			return failure
		}
	}
	return nil
}

func hasDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != math.MaxInt32
}

// progress returns the condition Progressing of a deployment that has a deadline. Without a reason, it stays as it is.
func (r *rollout) progress(status *appsv1.DeploymentStatus, now time.Time) (is corev1.ConditionStatus, reason, message string) {
	before := cmp.Or(find(status, appsv1.DeploymentProgressing), &appsv1.DeploymentCondition{})
	name, subject, isNew := "", fmt.Sprintf("Deployment %q", r.d.Name), false
	if r.current != nil {
		name, subject = r.current.Name, fmt.Sprintf("ReplicaSet %q", r.current.Name)
		isNew = before.Reason == "" || r.current.Annotations[revisionAnnotation] != r.d.Annotations[revisionAnnotation]
	}
	switch {
	case r.refused != "":
		return corev1.ConditionFalse, "ReplicaSetCreateError", r.refused
	case r.created:
		return corev1.ConditionTrue, "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", name)
	case r.d.Spec.Paused && before.Reason != deadlineExceeded:
		return corev1.ConditionUnknown, isPaused, "Deployment is paused"
	case r.d.Spec.Paused, r.isScaled():
	case before.Reason == isPaused:
		return corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed"
	case before.Reason == newSetAvailable && status.Replicas == status.UpdatedReplicas: // pods that are lost later are no rollout
	case isNew: // or a create whose answer was lost
		return corev1.ConditionTrue, "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", name)
	case r.isComplete(*status):
		return corev1.ConditionTrue, newSetAvailable, subject + " has successfully progressed."
	case r.hasProgressed(status):
		return corev1.ConditionTrue, setUpdated, subject + " is progressing."
	case r.isLimited(before) && !now.Before(r.deadline(before)):
		return corev1.ConditionFalse, deadlineExceeded, subject + " has timed out progressing."
	}
	return "", "", ""
}

// hasProgressed reports whether there are more new pods, fewer old ones, or more that work than in the last status.
func (r *rollout) hasProgressed(status *appsv1.DeploymentStatus) bool {
	before := &r.d.Status
	return status.UpdatedReplicas > before.UpdatedReplicas ||
		status.Replicas-status.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		status.ReadyReplicas > before.ReadyReplicas || status.AvailableReplicas > before.AvailableReplicas
}

// isLimited reports whether a deployment with a condition Progressing must progress until a deadline.
func (r *rollout) isLimited(progressing *appsv1.DeploymentCondition) bool {
	return hasDeadline(r.d) && !r.d.Spec.Paused && r.d.DeletionTimestamp == nil &&
		progressing.Reason != "" && progressing.Reason != deadlineExceeded && progressing.Reason != newSetAvailable
}

// deadline returns until when a deployment must progress. The time of the condition has no fractions of a second.
func (r *rollout) deadline(progressing *appsv1.DeploymentCondition) time.Time {
	return progressing.LastUpdateTime.Add(time.Duration(*r.d.Spec.ProgressDeadlineSeconds)*time.Second + time.Second)
}

// find returns the condition of a type, nil if there is none.
func find(status *appsv1.DeploymentStatus, of appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	return util.Find(status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == of })
}

// put sets a condition, unless it is there with the same reason: only each progress has a time of its own.
func put(status *appsv1.DeploymentStatus, of appsv1.DeploymentConditionType, is corev1.ConditionStatus, reason, message string, now time.Time) {
	since := metav1.NewTime(now)
	if before := find(status, of); before != nil && before.Status == is {
		if before.Reason == reason && reason != setUpdated {
			return
		}
		since = before.LastTransitionTime
	}
	remove(status, of)
	status.Conditions = append(status.Conditions, appsv1.DeploymentCondition{Type: of, Status: is, Reason: reason, Message: message,
		LastUpdateTime: metav1.NewTime(now), LastTransitionTime: since})
}

func remove(status *appsv1.DeploymentStatus, of appsv1.DeploymentConditionType) {
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == of })
}
