package core

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

func makeNodes(b base) *generic.Store[*corev1.Node] {
	return &generic.Store[*corev1.Node]{
		Encoding: rest.NewEncoding(coreGroup.WithKind("Node"), b.codec), Resource: corev1.Resource("nodes"), Internal: api.NodeKind, Labelled: true,
		Objects: b.objects, Turns: b.turns, Now: b.now,
		Strategy: generic.Strategy[*corev1.Node]{
			Default:          defaults.Node,
			Validate:         validation.ValidateNode,
			PrepareForUpdate: func(node, old *corev1.Node) { node.Status = old.Status },
			ValidateUpdate:   validation.ValidateNodeUpdate,
			Fields:           nodeFields,
		},
	}
}

func nodeStatusStrategy() generic.Strategy[*corev1.Node] {
	return generic.Strategy[*corev1.Node]{
		Default:          defaults.Node,
		PrepareForUpdate: func(node, old *corev1.Node) { node.Spec = old.Spec },
		ValidateUpdate:   validation.ValidateNodeUpdate,
		Fields:           nodeFields,
	}
}

func nodeFields(node *corev1.Node) fields.Set {
	return fields.Set{"spec.unschedulable": strconv.FormatBool(node.Spec.Unschedulable)}
}

// heartbeatTime is how long a kubelet may be silent and count as alive, as for today's
// node controller.
const heartbeatTime = 40 * time.Second

// isAlive reports whether the kubelet of a node has said lately that it is ready.
func isAlive(b base, name string) bool {
	if name == "" {
		return false
	}
	stored, err := b.objects.Get(api.DefaultKey(api.NodeKind, name))
	if err != nil {
		return false
	}
	converted, err := b.codec.Scheme.ConvertToVersion(stored.Object, v1.Version)
	if err != nil {
		return false
	}
	for _, condition := range converted.(*corev1.Node).Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue && b.now().Sub(condition.LastHeartbeatTime.Time) < heartbeatTime
		}
	}
	return false
}
