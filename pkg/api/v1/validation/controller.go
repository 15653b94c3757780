package validation

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
)

// ValidateReplicationController checks a new replication controller.
func ValidateReplicationController(rc *corev1.ReplicationController) field.ErrorList {
	return Create(rc, true, nil, ReplicationController)
}

// ReplicationControllerStatus checks the status of a replication controller.
func ReplicationControllerStatus(c *check.Errors, now, _ *corev1.ReplicationController) {
	at, status := field.NewPath("status"), now.Status
	c.Nonnegative(at.Child("replicas"), int64(status.Replicas))
	c.Nonnegative(at.Child("fullyLabeledReplicas"), int64(status.FullyLabeledReplicas))
	c.Nonnegative(at.Child("readyReplicas"), int64(status.ReadyReplicas))
	c.Nonnegative(at.Child("availableReplicas"), int64(status.AvailableReplicas))
	c.Nonnegative(at.Child("observedGeneration"), status.ObservedGeneration)
	const most = "cannot be greater than status.replicas"
	c.InvalidIf(status.FullyLabeledReplicas > status.Replicas, at.Child("fullyLabeledReplicas"), status.FullyLabeledReplicas, most)
	c.InvalidIf(status.ReadyReplicas > status.Replicas, at.Child("readyReplicas"), status.ReadyReplicas, most)
	c.InvalidIf(status.AvailableReplicas > status.Replicas, at.Child("availableReplicas"), status.AvailableReplicas, most)
	c.InvalidIf(status.AvailableReplicas > status.ReadyReplicas, at.Child("availableReplicas"), status.AvailableReplicas, "cannot be greater than readyReplicas")
}

// ReplicationController checks the spec of a replication controller.
func ReplicationController(c *check.Errors, now, _ *corev1.ReplicationController) {
	spec, at := &now.Spec, field.NewPath("spec")
	c.Nonnegative(at.Child("minReadySeconds"), int64(spec.MinReadySeconds))
	c.Some(at.Child("selector"), len(spec.Selector), "")
	if spec.Replicas == nil {
		c.Add(field.Required(at.Child("replicas"), ""))
	} else {
		c.Nonnegative(at.Child("replicas"), int64(*spec.Replicas))
	}
	at = at.Child("template")
	if spec.Template == nil {
		c.Add(field.Required(at, ""))
		return
	}
	template := spec.Template
	c.InvalidIf(!labels.SelectorFromSet(spec.Selector).Matches(labels.Set(template.Labels)), at.Child("metadata", "labels"), template.Labels,
		"`selector` does not match template `labels`")
	PodTemplate(c, template, at)
	check.Supported(c, at.Child("spec", "restartPolicy"), template.Spec.RestartPolicy, corev1.RestartPolicyAlways)
	c.Forbid(template.Spec.ActiveDeadlineSeconds != nil, at.Child("spec", "activeDeadlineSeconds"),
		"activeDeadlineSeconds in ReplicationController is not Supported")
}

// PodTemplate checks the pod template of an object of any kind.
func PodTemplate(c *check.Errors, template *corev1.PodTemplateSpec, at *field.Path) {
	c.LabelsAndAnnotations(&template.ObjectMeta, at)
	checks{c}.podAnnotations(template.Annotations, template.Spec.NodeName != "", at.Child("annotations"))
	podspec.Validate(c, &template.Spec, "", at.Child("spec"))
	c.Forbid(len(template.Spec.EphemeralContainers) > 0, at.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template")
}

// ValidateScaleUpdate checks an update of the number of replicas.
var ValidateScaleUpdate = updates(func(c checks, now, _ *autoscalingv1.Scale) {
	c.Metadata(&now.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	c.Nonnegative(field.NewPath("spec", "replicas"), int64(now.Spec.Replicas))
})
