// Package apiregistration has the kind APIService: which server answers for a version of the API. Those of this server's own
// kinds are local ones, which it creates itself.
package apiregistration

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/validation"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// Kind is the stored kind.
const Kind = "apiservices.apiregistration.k8s.io"

// Services is the store of the APIServices, and that of their status.
type Services struct {
	*genericregistry.Store[*apiregistrationv1.APIService]
	Status rest.Updater
}

// Resources returns the store, and the table of the group.
func Resources(b rest.Base) (*Services, []rest.Resource) {
	store, rows := apiservices.Build(b)
	return &Services{store, rows[1].Storage.(rest.Updater)}, rows
}

var apiservices = generic.Resource[*apiregistrationv1.APIService]{
	Row:                       row(),
	Name:                      func(name string, _ bool) []string { return path.IsValidPathSegmentName(name) },
	Validate:                  rules,
	ForbidUnconditionalUpdate: true,
	Default:                   func(s *apiregistrationv1.APIService) { apiregistrationv1.SetObjectDefaults_APIService(s) },
	Prepare: func(now, old *apiregistrationv1.APIService) {
		if now.Spec.Service == nil && (old == nil || old.Spec.Service != nil) {
			helper.SetAPIServiceCondition(now, helper.NewLocalAvailableAPIServiceCondition())
		}
	},
	StatusOnly: true,
	ValidateStatus: func(c *check.Errors, now, _ *apiregistrationv1.APIService) {
		for _, err := range validation.ValidateAPIServiceStatus(&internal(now).Status, field.NewPath("status")) {
			c.Add(err)
		}
	},
}

func row() rest.Resource {
	row := rest.ClusterScoped(apiregistrationv1.SchemeGroupVersion, "APIService", "apiservices", printers.APIServices).In("api-extensions")
	row.StoredKind = Kind
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

// Priorities orders a version: its group among the groups, and itself in the group. A higher one comes first.
type Priorities struct{ Group, Version int32 }

// priorities are those of today's server for built-in kinds.
var priorities = map[schema.GroupVersion]Priorities{
	{Group: apiregistrationv1.GroupName, Version: "v1"}:    {20000, 1},
	{Group: "", Version: "v1"}:                             {18000, 1},
	{Group: "apps", Version: "v1"}:                         {17800, 15},
	{Group: "events.k8s.io", Version: "v1"}:                {17750, 15},
	{Group: "authentication.k8s.io", Version: "v1"}:        {17700, 15},
	{Group: "authorization.k8s.io", Version: "v1"}:         {17600, 15},
	{Group: "autoscaling", Version: "v2"}:                  {17500, 30},
	{Group: "autoscaling", Version: "v1"}:                  {17500, 15},
	{Group: "batch", Version: "v1"}:                        {17400, 15},
	{Group: "certificates.k8s.io", Version: "v1"}:          {17300, 15},
	{Group: "networking.k8s.io", Version: "v1"}:            {17200, 15},
	{Group: "policy", Version: "v1"}:                       {17100, 15},
	{Group: "rbac.authorization.k8s.io", Version: "v1"}:    {17000, 15},
	{Group: "storage.k8s.io", Version: "v1"}:               {16800, 15},
	{Group: "admissionregistration.k8s.io", Version: "v1"}: {16700, 15},
	{Group: "apiextensions.k8s.io", Version: "v1"}:         {16700, 15},
	{Group: "scheduling.k8s.io", Version: "v1"}:            {16600, 15},
	{Group: "coordination.k8s.io", Version: "v1"}:          {16500, 15},
	{Group: "node.k8s.io", Version: "v1"}:                  {16300, 15},
	{Group: "discovery.k8s.io", Version: "v1"}:             {16200, 15},
	{Group: "resource.k8s.io", Version: "v1"}:              {16200, 21},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}: {16100, 21},
	{Group: "metrics.k8s.io", Version: "v1beta1"}:          {100, 100}, // as metrics-server registers it
}

// ofDefinitions is the priority of the kinds of CustomResourceDefinitions.
var ofDefinitions = Priorities{1000, 100}

// PrioritiesOf returns the priority of a version of this server.
func PrioritiesOf(of schema.GroupVersion) (p Priorities, isBuiltIn bool) {
	if p, isBuiltIn = priorities[of]; isBuiltIn {
		return p, true
	}
	return ofDefinitions, false
}

// Sort sorts versions as discovery shows them: groups by the highest priority of their versions and by name, and the versions of a group by
// their priority and name.
func Sort[V any](versions []V, of func(V) (schema.GroupVersion, Priorities)) {
	groups := map[string]int32{}
	for _, v := range versions {
		version, p := of(v)
		groups[version.Group] = max(groups[version.Group], p.Group)
	}
	slices.SortFunc(versions, func(v, w V) int {
		a, first := of(v)
		b, second := of(w)
		return cmp.Or(cmp.Compare(groups[b.Group], groups[a.Group]), strings.Compare(a.Group, b.Group), cmp.Compare(second.Version, first.Version),
			-version.CompareKubeAwareVersionStrings(a.Version, b.Version))
	})
}
