// Package apiregistration has the kind APIService: which server answers for a version of the API. Those of this server's own
// kinds are local ones, which it creates itself.
package apiregistration

import (
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/validation"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
)

// Kind is the stored kind.
const Kind = "apiservices.apiregistration.k8s.io"

// Services is the store of the APIServices, and that of their status.
type Services struct {
	*generic.Store[*apiregistrationv1.APIService]
	Status rest.Updater
}

// Resources returns the store, and the table of the group.
func Resources(b generic.Base) (*Services, []rest.Resource) {
	store, rows := apiservices.Build(b)
	return &Services{store, rows[1].Storage.(rest.Updater)}, rows
}

var apiservices = generic.Kind[*apiregistrationv1.APIService]{
	Row:            row(),
	Name:           func(name string, _ bool) []string { return path.IsValidPathSegmentName(name) },
	Rules:          rules,
	RequireVersion: true,
	Default:        func(s *apiregistrationv1.APIService) { apiregistrationv1.SetObjectDefaults_APIService(s) },
	Prepare: func(now, old *apiregistrationv1.APIService) {
		if now.Spec.Service == nil && (old == nil || old.Spec.Service != nil) {
			helper.SetAPIServiceCondition(now, helper.NewLocalAvailableAPIServiceCondition())
		}
	},
	PrepareStatus: func(now, old *apiregistrationv1.APIService) { metav1.ResetObjectMetaForStatus(now, old) },
	StatusResets:  fieldmanager.Fields{"metadata"},
	StatusRules: func(c *check.Errors, now, _ *apiregistrationv1.APIService) {
		for _, err := range validation.ValidateAPIServiceStatus(&internal(now).Status, field.NewPath("status")) {
			c.Add(err)
		}
	},
}

func row() rest.Resource {
	row := rest.ClusterScoped(apiregistrationv1.SchemeGroupVersion, "APIService", "apiservices", printers.APIServices).In("api-extensions")
	row.Stored = Kind
	return row
}

// rules are those of today's server itself. Those for metadata have been checked.
func rules(c *check.Errors, now, _ *apiregistrationv1.APIService) {
	for _, err := range validation.ValidateAPIService(internal(now)) {
		c.Add(err)
	}
}

// internal converts a service to the version for which the rules are written.
func internal(service *apiregistrationv1.APIService) *apiregistration.APIService {
	converted := &apiregistration.APIService{}
	utilruntime.Must(apiregistrationv1.Convert_v1_APIService_To_apiregistration_APIService(service, converted, nil)) // it only copies
	return converted
}
