// Package apiregistration has the kind APIService: which server answers for a version of the API. Those of this server's own
// kinds are local ones, which it creates itself.
package apiregistration

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

// Kind is the stored kind.
const Kind = "apiservices.apiregistration.k8s.io"

// Services is the store of the APIServices.
type Services = generic.Store[*apiregistrationv1.APIService]

// Resources returns the store, and the table of the group.
func Resources(b generic.Base) (*Services, []rest.Resource) { return apiservices.Build(b) }

var apiservices = generic.Kind[*apiregistrationv1.APIService]{
	Row:            row(),
	Name:           func(name string, _ bool) []string { return path.IsValidPathSegmentName(name) },
	Rules:          rules,
	RequireVersion: true,
	Default:        func(s *apiregistrationv1.APIService) { apiregistrationv1.SetObjectDefaults_APIService(s) },
	Prepare: func(now, old *apiregistrationv1.APIService) {
		if old == nil || (old.Spec.Service == nil) != (now.Spec.Service == nil) {
			helper.SetAPIServiceCondition(now, available(now))
		}
	},
	StatusRules: func(c *check.Errors, now, _ *apiregistrationv1.APIService) {
		for i, condition := range now.Status.Conditions {
			switch condition.Status {
			case apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown:
			default:
				c.Add(field.NotSupported(field.NewPath("status", "conditions").Index(i).Child("status"), condition.Status, []apiregistrationv1.ConditionStatus{
					apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown}))
			}
		}
	},
}

func row() rest.Resource {
	row := rest.ClusterScoped(apiregistrationv1.SchemeGroupVersion, "APIService", "apiservices", printers.APIServices).In("api-extensions")
	row.Stored = Kind
	return row
}

// rules are those of today's server.
func rules(c *check.Errors, now, _ *apiregistrationv1.APIService) {
	spec, at := &now.Spec, field.NewPath("spec")
	if name := spec.Version + "." + spec.Group; now.Name != name && len(path.IsValidPathSegmentName(now.Name)) == 0 {
		c.Add(field.Invalid(field.NewPath("metadata", "name"), now.Name, fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", name)))
	}
	if spec.Group == "" && spec.Version != "v1" {
		c.Add(field.Required(at.Child("group"), "only v1 may have an empty group and it better be legacy kube"))
	}
	if spec.Group != "" {
		c.Each(at.Child("group"), spec.Group, utilvalidation.IsDNS1123Subdomain(spec.Group))
	}
	c.Each(at.Child("version"), spec.Version, utilvalidation.IsDNS1035Label(spec.Version))
	if spec.GroupPriorityMinimum <= 0 || spec.GroupPriorityMinimum > 20000 {
		c.Add(field.Invalid(at.Child("groupPriorityMinimum"), spec.GroupPriorityMinimum, "must be positive and less than 20000"))
	}
	if spec.VersionPriority <= 0 || spec.VersionPriority > 1000 {
		c.Add(field.Invalid(at.Child("versionPriority"), spec.VersionPriority, "must be positive and less than 1000"))
	}
	if spec.Service == nil {
		if len(spec.CABundle) > 0 {
			c.Add(field.Invalid(at.Child("caBundle"), fmt.Sprintf("%d bytes", len(spec.CABundle)), "local APIServices may not have a caBundle"))
		}
		if spec.InsecureSkipTLSVerify {
			c.Add(field.Invalid(at.Child("insecureSkipTLSVerify"), true, "local APIServices may not have insecureSkipTLSVerify"))
		}
		return
	}
	if spec.Service.Namespace == "" {
		c.Add(field.Required(at.Child("service", "namespace"), ""))
	}
	if spec.Service.Name == "" {
		c.Add(field.Required(at.Child("service", "name"), ""))
	}
	if port := spec.Service.Port; port != nil {
		for _, wrong := range utilvalidation.IsValidPortNum(int(*port)) {
			c.Add(field.Invalid(at.Child("service", "port"), *port, "port is not valid: "+wrong))
		}
	}
	if spec.InsecureSkipTLSVerify && len(spec.CABundle) > 0 {
		c.Add(field.Invalid(at.Child("insecureSkipTLSVerify"), true, "may not be true if caBundle is present"))
	}
}

// available returns the condition of a service: nothing is sent to other servers yet.
func available(service *apiregistrationv1.APIService) apiregistrationv1.APIServiceCondition {
	if service.Spec.Service == nil {
		return helper.NewLocalAvailableAPIServiceCondition()
	}
	return apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, LastTransitionTime: metav1.Now(),
		Reason: "NotAggregated", Message: "this server sends no requests to other servers"}
}
