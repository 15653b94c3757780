package printers

import (
	"fmt"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// APIServices prints *apiregistrationv1.APIService.
var APIServices = table[apiregistrationv1.APIService](name,
	with(text("Service", "", "The reference to the service that hosts this API endpoint."), func(s *apiregistrationv1.APIService) string {
		if s.Spec.Service == nil {
			return "Local"
		}
		return s.Spec.Service.Namespace + "/" + s.Spec.Service.Name
	}),
	with(text("Available", "", "Whether this service is available."), func(s *apiregistrationv1.APIService) string {
		for _, condition := range s.Status.Conditions {
			switch {
			case condition.Type != apiregistrationv1.Available:
			case condition.Status != apiregistrationv1.ConditionTrue && condition.Reason != "":
				return fmt.Sprintf("%s (%s)", condition.Status, condition.Reason)
			default:
				return string(condition.Status)
			}
		}
		return string(apiregistrationv1.ConditionUnknown)
	}), age)
