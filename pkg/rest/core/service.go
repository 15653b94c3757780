package core

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core/connect"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
)

func serviceRows(b rest.Base, network connect.Network, pods, endpoints rest.Getter) []rest.Resource {
	row := coreRow("Service", "services", api.ServiceKind, printers.Services, "svc")
	row.Categories = inAll
	services := genericregistry.NewStore(b, row, serviceStrategy())
	services.AnswersDeleted = true
	services.Remove = storage.DeleteService
	return []rest.Resource{row.With(services), network.ServiceRow(row, services, endpoints, pods), row.Subresource("status", generic.SubresourceOf(services, "status", genericregistry.Strategy[*corev1.Service]{
		PrepareForUpdate: func(service, old *corev1.Service) { service.Spec = old.Spec },
		Resets:           fieldmanager.Fields{"spec"},
	}))}
}

func serviceStrategy() genericregistry.Strategy[*corev1.Service] {
	return genericregistry.Strategy[*corev1.Service]{
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

// keepAllocated keeps what a service was given if its update does not mention it: a client may send what it created the
// service from.
func keepAllocated(now, old *corev1.ServiceSpec) {
	if hasAddress(now) && hasAddress(old) {
		if now.ClusterIP == "" {
			now.ClusterIP, now.ClusterIPs = old.ClusterIP, old.ClusterIPs
		}
		if now.IPFamilyPolicy == nil {
			now.IPFamilyPolicy = old.IPFamilyPolicy
		}
		if len(now.IPFamilies) == 0 {
			now.IPFamilies = old.IPFamilies
		}
	}
	if isReached(now) && isReached(old) {
		for i := range now.Ports {
			port := &now.Ports[i]
			at := slices.IndexFunc(old.Ports, func(before corev1.ServicePort) bool { return before.Name == port.Name })
			if port.NodePort == 0 && at >= 0 && !slices.Contains(nodePorts(now), old.Ports[at].NodePort) {
				port.NodePort = old.Ports[at].NodePort
			}
		}
	}
	if isChecked(now) && isChecked(old) && now.HealthCheckNodePort == 0 {
		now.HealthCheckNodePort = old.HealthCheckNodePort
	}
}

// dropUnneeded clears fields that the new type of a service does not have, unless the update has changed them.
func dropUnneeded(now, old *corev1.ServiceSpec) {
	if hasAddress(old) && !hasAddress(now) {
		if now.ClusterIP == old.ClusterIP && slices.Equal(now.ClusterIPs, old.ClusterIPs) {
			now.ClusterIP, now.ClusterIPs = "", nil
		}
		dropSame(&now.IPFamilies, old.IPFamilies)
		dropSame(&now.IPFamilyPolicy, old.IPFamilyPolicy)
		dropSame(&now.InternalTrafficPolicy, old.InternalTrafficPolicy)
	}
	if isReached(old) && !isReached(now) {
		had := nodePorts(old)
		if !slices.ContainsFunc(nodePorts(now), func(port int32) bool { return !slices.Contains(had, port) }) {
			for i := range now.Ports {
				now.Ports[i].NodePort = 0
			}
		}
	}
	if isChecked(old) && !isChecked(now) {
		dropSame(&now.HealthCheckNodePort, old.HealthCheckNodePort)
	}
	if old.Type == corev1.ServiceTypeLoadBalancer && now.Type != old.Type {
		dropSame(&now.AllocateLoadBalancerNodePorts, old.AllocateLoadBalancerNodePorts)
		dropSame(&now.LoadBalancerClass, old.LoadBalancerClass)
	}
	if isExternal(old) && !isExternal(now) {
		dropSame(&now.ExternalTrafficPolicy, old.ExternalTrafficPolicy)
	}
}

// dropSame clears a field that has its old value.
func dropSame[T any](field *T, old T) {
	if equality.Semantic.DeepEqual(*field, old) {
		*field = *new(T)
	}
}

func hasAddress(spec *corev1.ServiceSpec) bool { return spec.Type != corev1.ServiceTypeExternalName }

// isReached reports whether a service has node ports.
func isReached(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
}

// isExternal reports whether a service is reached from elsewhere, by node ports or by addresses.
func isExternal(spec *corev1.ServiceSpec) bool {
	return isReached(spec) || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
}

// isChecked reports whether a service has a node port for health checks.
func isChecked(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// nodePorts returns the node ports of a service.
func nodePorts(spec *corev1.ServiceSpec) (numbers []int32) {
	for _, port := range spec.Ports {
		if port.NodePort != 0 {
			numbers = append(numbers, port.NodePort)
		}
	}
	return numbers
}
