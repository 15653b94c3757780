package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

func makeServices(b base) *generic.Store[*corev1.Service] {
	return &generic.Store[*corev1.Service]{
		Encoding: rest.NewEncoding(coreGroup.WithKind("Service"), b.codec), Resource: corev1.Resource("services"), Internal: api.ServiceKind, Namespaced: true,
		Objects: b.objects, Turns: b.turns, Strategy: serviceStrategy(), Now: b.now, AnswersDeleted: true,
		Remove: func(_ context.Context, name string, version uint64) error {
			_, err := b.objects.Commit(storage.DeleteService(api.DefaultKey(api.ServiceKind, name), version)...)
			return err
		},
	}
}

func serviceStrategy() generic.Strategy[*corev1.Service] {
	return generic.Strategy[*corev1.Service]{
		PrepareForCreate: func(service *corev1.Service) { service.Status = corev1.ServiceStatus{} },
		Default:          defaults.Service,
		Validate:         validation.ValidateService,
		PrepareForUpdate: func(service, old *corev1.Service) {
			service.Status = old.Status
			if spec := &service.Spec; spec.ClusterIP == "" && spec.Type != corev1.ServiceTypeExternalName { // it stays until it is changed
				spec.ClusterIP, spec.ClusterIPs = old.Spec.ClusterIP, old.Spec.ClusterIPs
			}
		},
		ValidateUpdate:      validation.ValidateServiceUpdate,
		AllowCreateOnUpdate: true,
		Fields:              serviceFields,
	}
}

func serviceStatusStrategy() generic.Strategy[*corev1.Service] {
	return generic.Strategy[*corev1.Service]{
		PrepareForUpdate: func(service, old *corev1.Service) { service.Spec = old.Spec },
		Fields:           serviceFields,
	}
}

func serviceFields(service *corev1.Service) fields.Set {
	return fields.Set{"spec.clusterIP": service.Spec.ClusterIP, "spec.type": string(service.Spec.Type)}
}
