package core

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

func controllerRows(b generic.Base) []rest.Resource {
	row := coreRow("ReplicationController", "replicationcontrollers", api.ControllerKind, printers.ReplicationControllers, "rc")
	row.Categories = inAll
	controllers := generic.NewStore(b, row, controllerStrategy())
	scales := generic.ScaleRow(row, controllers, func(rc *corev1.ReplicationController) (**int32, int32, string) {
		return &rc.Spec.Replicas, rc.Status.Replicas, labels.SelectorFromSet(rc.Spec.Selector).String()
	})
	return []rest.Resource{row.With(controllers), scales, row.Subresource("status", generic.PartOf(controllers, generic.Strategy[*corev1.ReplicationController]{
		PrepareForUpdate: func(rc, old *corev1.ReplicationController) { rc.Spec = old.Spec },
		ValidateUpdate:   validation.ValidateReplicationControllerStatusUpdate,
	}))}
}

func controllerStrategy() generic.Strategy[*corev1.ReplicationController] {
	return generic.Strategy[*corev1.ReplicationController]{
		PrepareForCreate: func(rc *corev1.ReplicationController) {
			rc.Status = corev1.ReplicationControllerStatus{}
			rc.Generation = 1
		},
		Default:  defaults.ReplicationController,
		Validate: validation.ValidateReplicationController,
		PrepareForUpdate: func(rc, old *corev1.ReplicationController) {
			rc.Status = old.Status
			countGeneration(rc, rc.Spec, old.Spec)
		},
		ValidateUpdate: validation.ValidateReplicationControllerUpdate,
		Dependents:     generic.Orphaned,
		Fields:         controllerFields,
	}
}

func controllerFields(rc *corev1.ReplicationController) fields.Set {
	return fields.Set{"status.replicas": strconv.Itoa(int(rc.Status.Replicas))}
}
