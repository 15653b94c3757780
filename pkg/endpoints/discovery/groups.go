// Package discovery serves the documents by which a client finds the groups, versions and
// resources of the server.
package discovery

import (
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Version is one version of a group.
type Version struct {
	schema.GroupVersion
	// Resources are in the order of the documents. A subresource, such as
	// "pods/status", comes after its resource. Group and Version are set only where
	// they differ from where the resource is served.
	Resources []metav1.APIResource
	// Remote is what another server says that it serves in the version. It is nil if this server serves the version.
	Remote *apidiscovery.APIVersionDiscovery
}

// groupPath returns the path of a group: the one without a name is at /api, each other one at /apis/NAME.
func groupPath(group string) string {
	if group == "" {
		return "/api"
	}
	return "/apis/" + group
}

// Path returns the path of the version.
func (v Version) Path() string { return groupPath(v.Group) + "/" + v.GroupVersion.Version }
