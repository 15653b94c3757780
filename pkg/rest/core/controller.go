package core

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest/generic"
)

var controllers = generic.Kind[*corev1.ReplicationController]{
	Row:      coreRow("ReplicationController", "replicationcontrollers", api.ControllerKind, printers.ReplicationControllers, "rc").In(inAll...),
	Counted:  true,
	Warnings: warnings.ReplicationController,
	Scale: func(rc *corev1.ReplicationController) (**int32, int32, string) {
		return &rc.Spec.Replicas, rc.Status.Replicas, labels.SelectorFromSet(rc.Spec.Selector).String()
	},
	Default:     defaults.ReplicationController,
	Rules:       validation.ReplicationController,
	StatusRules: validation.ReplicationControllerStatus,
	Fields: func(rc *corev1.ReplicationController) fields.Set {
		return fields.Set{"status.replicas": strconv.Itoa(int(rc.Status.Replicas))}
	},
	Dependents: generic.Orphaned,
}
