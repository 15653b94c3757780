package printers

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ReplicationControllers prints *corev1.ReplicationController.
var ReplicationControllers = table[corev1.ReplicationController](name,
	number("Desired", "spec.replicas"), number("Current", "status.replicas"), number("Ready", "status.readyReplicas"), age,
	wide(namesOf("spec.template")), wide(imagesOf("spec.template")), wide(with(text("Selector", "spec.selector"), labels.FormatLabels)))

// Scales prints *autoscalingv1.Scale. As on today's server, its names have no format.
var Scales = table[autoscalingv1.Scale](text("Name", "metadata.name"), number("Desired", "spec.replicas"), number("Available", "status.replicas"), age)
