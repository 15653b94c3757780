package printers

import (
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var (
	controllerSpecDoc   = corev1.ReplicationControllerSpec{}.SwaggerDoc()
	controllerStatusDoc = corev1.ReplicationControllerStatus{}.SwaggerDoc()
)

// ReplicationControllers prints *corev1.ReplicationController.
var ReplicationControllers = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		number("Desired", controllerSpecDoc["replicas"]),
		number("Current", controllerStatusDoc["replicas"]),
		number("Ready", controllerStatusDoc["readyReplicas"]),
		ageColumn,
		wide(containersColumn),
		wide(imagesColumn),
		wide(text("Selector", controllerSpecDoc["selector"])),
	},
	Cells: of(controllerCells),
}

func controllerCells(controller *corev1.ReplicationController, now time.Time) []any {
	var desired int64
	if controller.Spec.Replicas != nil {
		desired = int64(*controller.Spec.Replicas)
	}
	names, images := containerCells(controller.Spec.Template)
	return []any{
		controller.Name,
		desired,
		int64(controller.Status.Replicas),
		int64(controller.Status.ReadyReplicas),
		since(controller.CreationTimestamp.Time, now),
		names,
		images,
		labels.FormatLabels(controller.Spec.Selector),
	}
}

var (
	containersColumn = text("Containers", "Names of each container in the template.")
	imagesColumn     = text("Images", "Images referenced by each container in the template.")
)

// containerCells returns the names and the images of the containers of a template, which may be nil.
func containerCells(template *corev1.PodTemplateSpec) (string, string) {
	var names, images []string
	if template != nil {
		for _, container := range template.Spec.Containers {
			names, images = append(names, container.Name), append(images, container.Image)
		}
	}
	return strings.Join(names, ","), strings.Join(images, ",")
}

// Scales prints *autoscalingv1.Scale.
var Scales = Printer{
	Columns: []metav1.TableColumnDefinition{
		text("Name", metadataDoc["name"]), // without a format, as in the real server
		number("Desired", autoscalingv1.ScaleSpec{}.SwaggerDoc()["replicas"]),
		number("Available", autoscalingv1.ScaleStatus{}.SwaggerDoc()["replicas"]),
		ageColumn,
	},
	Cells: of(func(scale *autoscalingv1.Scale, now time.Time) []any {
		return []any{scale.Name, int64(scale.Spec.Replicas), int64(scale.Status.Replicas), since(scale.CreationTimestamp.Time, now)}
	}),
}
