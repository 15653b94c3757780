package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
)

// June 2014's service has one port. Its labels are those of the tasks that it selects;
// the labels of the service itself are part of the remainder.

func inService(svc corev1.Service) (service api.Service, err error) {
	service = api.Service{JSONBase: api.JSONBase{ID: svc.Name}, Port: inServicePorts(svc.Spec.Ports)}
	service.ObjectMeta, svc.ObjectMeta = inMeta(svc.ObjectMeta)
	service.Labels, svc.Spec.Selector = svc.Spec.Selector, nil
	service.SelectsNothing = len(service.Labels) == 0
	if equality.Semantic.DeepEqual(outServicePorts(service.Port), svc.Spec.Ports) {
		svc.Spec.Ports = nil
	}
	service.Remainder, err = encodeRest(&corev1.Service{ObjectMeta: svc.ObjectMeta, Spec: svc.Spec, Status: svc.Status})
	return service, err
}

func outService(service api.Service) (corev1.Service, error) {
	svc, err := decodeRest[corev1.Service](&service)
	if err != nil {
		return corev1.Service{}, err
	}
	outMeta(&svc.ObjectMeta, &service)
	svc.Spec.Selector = service.Labels
	if inServicePorts(svc.Spec.Ports) != service.Port {
		svc.Spec.Ports = outServicePorts(service.Port)
	}
	defaults.Service(&svc)
	return svc, nil
}

func inServicePorts(ports []corev1.ServicePort) int {
	if len(ports) == 0 {
		return 0
	}
	return int(ports[0].Port)
}

func outServicePorts(port int) []corev1.ServicePort {
	if port == 0 {
		return nil
	}
	number := api.Int32(port)
	return []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: number, TargetPort: intstr.FromInt32(number)}}
}
