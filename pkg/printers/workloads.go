package printers

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var readyColumn = text("Ready", "Number of the pod with ready state")

// Deployments prints *appsv1.Deployment.
var Deployments = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, readyColumn,
		text("Up-to-date", appsv1.DeploymentStatus{}.SwaggerDoc()["updatedReplicas"]),
		text("Available", appsv1.DeploymentStatus{}.SwaggerDoc()["availableReplicas"]),
		ageColumn, wide(containersColumn), wide(imagesColumn), wide(text("Selector", appsv1.DeploymentSpec{}.SwaggerDoc()["selector"]))},
	Cells: of(func(o *appsv1.Deployment, now time.Time) []any {
		names, images := containerCells(&o.Spec.Template)
		selector := "<invalid>"
		if valid, err := metav1.LabelSelectorAsSelector(o.Spec.Selector); err == nil {
			selector = valid.String()
		}
		return []any{o.Name, readyOf(o.Status.ReadyReplicas, o.Spec.Replicas), int64(o.Status.UpdatedReplicas), int64(o.Status.AvailableReplicas),
			since(o.CreationTimestamp.Time, now), names, images, selector}
	}),
}

// ReplicaSets prints *appsv1.ReplicaSet.
var ReplicaSets = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn,
		number("Desired", appsv1.ReplicaSetSpec{}.SwaggerDoc()["replicas"]),
		number("Current", appsv1.ReplicaSetStatus{}.SwaggerDoc()["replicas"]),
		number("Ready", appsv1.ReplicaSetStatus{}.SwaggerDoc()["readyReplicas"]),
		ageColumn, wide(containersColumn), wide(imagesColumn), wide(text("Selector", appsv1.ReplicaSetSpec{}.SwaggerDoc()["selector"]))},
	Cells: of(func(o *appsv1.ReplicaSet, now time.Time) []any {
		names, images := containerCells(&o.Spec.Template)
		return []any{o.Name, wantedOf(o.Spec.Replicas), int64(o.Status.Replicas), int64(o.Status.ReadyReplicas),
			since(o.CreationTimestamp.Time, now), names, images, metav1.FormatLabelSelector(o.Spec.Selector)}
	}),
}

// StatefulSets prints *appsv1.StatefulSet.
var StatefulSets = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, readyColumn, ageColumn, wide(containersColumn), wide(imagesColumn)},
	Cells: of(func(o *appsv1.StatefulSet, now time.Time) []any {
		names, images := containerCells(&o.Spec.Template)
		return []any{o.Name, readyOf(o.Status.ReadyReplicas, o.Spec.Replicas), since(o.CreationTimestamp.Time, now), names, images}
	}),
}

// DaemonSets prints *appsv1.DaemonSet.
var DaemonSets = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn,
		number("Desired", daemonStatusDoc["desiredNumberScheduled"]),
		number("Current", daemonStatusDoc["currentNumberScheduled"]),
		number("Ready", daemonStatusDoc["numberReady"]),
		number("Up-to-date", daemonStatusDoc["updatedNumberScheduled"]),
		number("Available", daemonStatusDoc["numberAvailable"]),
		text("Node Selector", corev1.PodSpec{}.SwaggerDoc()["nodeSelector"]),
		ageColumn, wide(containersColumn), wide(imagesColumn), wide(text("Selector", appsv1.DaemonSetSpec{}.SwaggerDoc()["selector"]))},
	Cells: of(func(o *appsv1.DaemonSet, now time.Time) []any {
		names, images := containerCells(&o.Spec.Template)
		s := &o.Status
		return []any{o.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady), int64(s.UpdatedNumberScheduled),
			int64(s.NumberAvailable), labels.FormatLabels(o.Spec.Template.Spec.NodeSelector), since(o.CreationTimestamp.Time, now), names, images,
			metav1.FormatLabelSelector(o.Spec.Selector)}
	}),
}

var daemonStatusDoc = appsv1.DaemonSetStatus{}.SwaggerDoc()

// ControllerRevisions prints *appsv1.ControllerRevision.
var ControllerRevisions = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("Controller", "Controller of the object"),
		text("Revision", appsv1.ControllerRevision{}.SwaggerDoc()["revision"]), ageColumn},
	Cells: of(func(o *appsv1.ControllerRevision, now time.Time) []any {
		controller := "<none>"
		if owner := metav1.GetControllerOf(o); owner != nil {
			kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
			controller = strings.ToLower(kind.String()) + "/" + owner.Name
		}
		return []any{o.Name, controller, o.Revision, since(o.CreationTimestamp.Time, now)}
	}),
}

// wantedOf returns a number of replicas that may be missing.
func wantedOf(replicas *int32) int64 {
	if replicas == nil {
		return 0
	}
	return int64(*replicas)
}

func readyOf(ready int32, wanted *int32) string { return fmt.Sprintf("%d/%d", ready, wantedOf(wanted)) }
