package core

import (
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/rest"
)

func makeEndpoints(b base) *rest.Store[*corev1.Endpoints] {
	return &rest.Store[*corev1.Endpoints]{
		Kind: coreGroup.WithKind("Endpoints"), Resource: corev1.Resource("endpoints"), Internal: api.EndpointsKind, Namespaced: true,
		Objects: b.objects, Codec: b.codec, Turns: b.turns, Now: b.now,
		Strategy: rest.Strategy[*corev1.Endpoints]{
			Default:             defaults.Endpoints,
			Validate:            validation.ValidateEndpoints,
			ValidateUpdate:      validation.ValidateEndpointsUpdate,
			AllowCreateOnUpdate: true,
		},
	}
}
