package printers

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Deployments prints *appsv1.Deployment.
var Deployments = table[appsv1.Deployment](name,
	with(readyColumn, func(o *appsv1.Deployment) string { return readyOf(o.Status.ReadyReplicas, o.Spec.Replicas) }),
	text("Up-to-date", "status.updatedReplicas"), text("Available", "status.availableReplicas"), age, wide(namesOf("spec.template")), wide(imagesOf("spec.template")),
	wide(with(text("Selector", "spec.selector"), func(selector *metav1.LabelSelector) string {
		valid, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			return "<invalid>"
		}
		return valid.String()
	})))

// ReplicaSets prints *appsv1.ReplicaSet.
var ReplicaSets = table[appsv1.ReplicaSet](name,
	number("Desired", "spec.replicas"), number("Current", "status.replicas"), number("Ready", "status.readyReplicas"), age,
	wide(namesOf("spec.template")), wide(imagesOf("spec.template")), wide(with(text("Selector", "spec.selector"), metav1.FormatLabelSelector)))

// StatefulSets prints *appsv1.StatefulSet.
var StatefulSets = table[appsv1.StatefulSet](name,
	with(readyColumn, func(o *appsv1.StatefulSet) string { return readyOf(o.Status.ReadyReplicas, o.Spec.Replicas) }), age,
	wide(namesOf("spec.template")), wide(imagesOf("spec.template")))

var readyColumn = text("Ready", "", "Number of the pod with ready state")

// DaemonSets prints *appsv1.DaemonSet.
var DaemonSets = table[appsv1.DaemonSet](name,
	number("Desired", "status.desiredNumberScheduled"), number("Current", "status.currentNumberScheduled"), number("Ready", "status.numberReady"),
	number("Up-to-date", "status.updatedNumberScheduled"), number("Available", "status.numberAvailable"),
	with(text("Node Selector", "spec.template.spec.nodeSelector"), labels.FormatLabels), age,
	wide(namesOf("spec.template")), wide(imagesOf("spec.template")), wide(with(text("Selector", "spec.selector"), metav1.FormatLabelSelector)))

// ControllerRevisions prints *appsv1.ControllerRevision.
var ControllerRevisions = table[appsv1.ControllerRevision](name,
	with(text("Controller", "", "Controller of the object"), func(o *appsv1.ControllerRevision) string {
		owner := metav1.GetControllerOf(o)
		if owner == nil {
			return "<none>"
		}
		return strings.ToLower(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind().String()) + "/" + owner.Name
	}),
	text("Revision", "revision"), age)

// wantedOf returns a number of replicas that may be missing.
func wantedOf(replicas *int32) int64 {
	if replicas == nil {
		return 0
	}
	return int64(*replicas)
}

func readyOf(ready int32, wanted *int32) string { return fmt.Sprintf("%d/%d", ready, wantedOf(wanted)) }
