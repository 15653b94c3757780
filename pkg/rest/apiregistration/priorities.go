package apiregistration

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

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
