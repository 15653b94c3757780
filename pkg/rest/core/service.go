package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

func serviceRows(b generic.Base, c Config, pods, endpoints rest.Getter) []rest.Resource {
	row := coreRow("Service", "services", api.ServiceKind, printers.Services, "svc")
	row.Categories = inAll
	services := generic.NewStore(b, row, serviceStrategy())
	services.AnswersDeleted = true
	services.Remove = storage.DeleteService
	proxy := connecting(row, "proxy", "ServiceProxyOptions", serviceProxy{services, endpoints, pods, c.Proxied})
	return []rest.Resource{row.With(services), proxy, row.Subresource("status", generic.PartOf(services, "status", generic.Strategy[*corev1.Service]{
		PrepareForUpdate: func(service, old *corev1.Service) { service.Spec = old.Spec },
		Resets:           fieldmanager.Fields{"spec"},
	}))}
}

func serviceStrategy() generic.Strategy[*corev1.Service] {
	return generic.Strategy[*corev1.Service]{
		PrepareForCreate: func(service *corev1.Service) { service.Status = corev1.ServiceStatus{} },
		Default:          defaults.Service,
		Validate:         validation.ValidateService,
		PrepareForUpdate: func(service, old *corev1.Service) {
			service.Status = old.Status
			if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
				service.Status.LoadBalancer = corev1.LoadBalancerStatus{}
			}
			keepAllocated(&service.Spec, &old.Spec)
			dropUnneeded(&service.Spec, &old.Spec)
		},
		ValidateUpdate:      validation.ValidateServiceUpdate,
		Warnings:            warnings.Service,
		AllowCreateOnUpdate: true,
		Resets:              fieldmanager.Fields{"status"},
		Fields:              serviceFields,
	}
}

func serviceFields(service *corev1.Service) fields.Set {
	return fields.Set{"spec.clusterIP": service.Spec.ClusterIP, "spec.type": string(service.Spec.Type)}
}
