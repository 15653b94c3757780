package apiregistration

import (
	"cmp"
	"strings"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// priority orders a version: its group among the groups, and itself in the group. A higher one comes first.
type priority struct{ group, version int32 }

// priorities are those of today's server for built-in kinds.
var priorities = map[schema.GroupVersion]priority{
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
}

// ofDefinitions is the priority of the kinds of CustomResourceDefinitions.
var ofDefinitions = priority{1000, 100}

func priorityOf(of schema.GroupVersion) (p priority, isBuiltIn bool) {
	if p, isBuiltIn = priorities[of]; isBuiltIn {
		return p, true
	}
	return ofDefinitions, false
}

// Compare orders versions as discovery shows them: the group of the APIServices themselves, then groups by their priority and
// name, and the versions of a group by their priority and name.
func Compare(a, b schema.GroupVersion) int {
	own := func(of schema.GroupVersion) int {
		return map[bool]int{true: 0, false: 1}[of.Group == apiregistrationv1.GroupName]
	}
	first, _ := priorityOf(a)
	second, _ := priorityOf(b)
	return cmp.Or(own(a)-own(b), int(second.group-first.group), strings.Compare(a.Group, b.Group), int(second.version-first.version),
		-version.CompareKubeAwareVersionStrings(a.Version, b.Version))
}
