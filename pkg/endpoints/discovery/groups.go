// Package discovery serves the documents by which a client finds the groups, versions and
// resources of the server.
package discovery

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is a group of the API. The one without a name is served at /api, each other
// one at /apis/NAME.
type Group struct {
	Name     string
	Versions []Version // the preferred version first
}

// Version is one version of a group.
type Version struct {
	Name string
	// Resources are in the order of the documents. A subresource, such as
	// "pods/status", comes after its resource. Group and Version are set only where
	// they differ from where the resource is served.
	Resources []metav1.APIResource
}

// Path returns the path of the group.
func (g Group) Path() string {
	if g.Name == "" {
		return "/api"
	}
	return "/apis/" + g.Name
}

func (g Group) describe() metav1.APIGroup {
	described := metav1.APIGroup{Name: g.Name}
	for _, version := range g.Versions {
		described.Versions = append(described.Versions, metav1.GroupVersionForDiscovery{
			GroupVersion: schema.GroupVersion{Group: g.Name, Version: version.Name}.String(),
			Version:      version.Name,
		})
	}
	if len(described.Versions) > 0 {
		described.PreferredVersion = described.Versions[0]
	}
	return described
}
