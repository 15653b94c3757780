package discovery

import (
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/endpoints/accept"
)

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// aggregate returns one document of all versions.
func aggregate(versions []Version) apidiscovery.APIGroupDiscoveryList {
	list := apidiscovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscovery.SchemeGroupVersion.String()},
		Items:    []apidiscovery.APIGroupDiscovery{},
	}
	for _, version := range versions {
		i := slices.IndexFunc(list.Items, func(group apidiscovery.APIGroupDiscovery) bool { return group.Name == version.Group })
		if i < 0 {
			i = len(list.Items)
			list.Items = append(list.Items, apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: version.Group}})
		}
		described := version.Remote
		if described == nil {
			described = &apidiscovery.APIVersionDiscovery{Version: version.GroupVersion.Version, Resources: Aggregate(version.Resources),
				Freshness: apidiscovery.DiscoveryFreshnessCurrent}
		}
		list.Items[i].Versions = append(list.Items[i].Versions, *described)
	}
	return list
}

// Aggregate returns resources as they are in the document of all versions.
func Aggregate(resources []metav1.APIResource) []apidiscovery.APIResourceDiscovery {
	var all []apidiscovery.APIResourceDiscovery
	for _, resource := range resources {
		kind := &metav1.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind}
		if of, name, isSub := strings.Cut(resource.Name, "/"); isSub {
			for i := range all {
				if all[i].Resource == of {
					all[i].Subresources = append(all[i].Subresources, apidiscovery.APISubresourceDiscovery{
						Subresource: name, ResponseKind: kind, Verbs: resource.Verbs,
					})
				}
			}
			continue
		}
		scope := apidiscovery.ScopeCluster
		if resource.Namespaced {
			scope = apidiscovery.ScopeNamespace
		}
		all = append(all, apidiscovery.APIResourceDiscovery{
			Resource:         resource.Name,
			ResponseKind:     kind,
			Scope:            scope,
			SingularResource: resource.SingularName,
			Verbs:            resource.Verbs,
			ShortNames:       resource.ShortNames,
			Categories:       resource.Categories,
		})
	}
	return all
}

// wantsAggregated reports whether a client prefers the aggregated document. One that
// accepts neither gets the plain document.
func wantsAggregated(headers []string) bool {
	for _, one := range accept.Parse(headers) {
		as := one.Parameters["as"]
		if one.Type == "application/json" && as == "APIGroupDiscoveryList" && one.Parameters["g"] == apidiscovery.GroupName && one.Parameters["v"] == "v2" {
			return true
		}
		if one.IsJSON() && as == "" {
			return false
		}
	}
	return false
}
