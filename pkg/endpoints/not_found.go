package endpoints

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kube2014/pkg/endpoints/responsewriters"
	"kube2014/pkg/server/request"
)

// notFound returns the error for a path that nothing serves. Its message is what clients of today's server print; its
// details name what there is (K87). Incomplete says that a resource may have been missing when the path was looked up; one that
// has come since then is not missing.
func (s *Server) notFound(method string, info *request.RequestInfo, incomplete bool) error {
	if mayComeLater(info.Path) && (incomplete || s.find(info) != nil) {
		return responsewriters.TryAgain("the request has been made before all known HTTP paths have been installed, please try again")
	}
	var resource schema.GroupResource
	names, isVersion := s.known(info)
	if info.IsResource && !isVersion { // today's server answers with a text, which its clients complete
		resource = schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	}
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, method, resource, info.Name, "", 0, false)
	err.ErrStatus.Details = &metav1.StatusDetails{}
	if len(names) > 0 {
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "there are " + strings.Join(names, ", ")}}
	}
	return err
}

// mayComeLater reports whether a path is that of a group whose kinds may be added at run time: its name has a dot.
func mayComeLater(path string) bool {
	rest, isGroup := strings.CutPrefix(path, "/apis/")
	group, _, _ := strings.Cut(rest, "/")
	return isGroup && strings.Contains(group, ".")
}

// known returns all versions if that of a request is unknown, all resources of the version if the resource is, or
// all subresources of the resource. It returns nil if the request is for no resource, or all is known.
func (s *Server) known(info *request.RequestInfo) (names []string, isVersion bool) {
	if !info.IsResource {
		return nil, false
	}
	wanted := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	versions, resources, subresources := sets.Set[string]{}, sets.Set[string]{}, sets.Set[string]{}
	for row := range s.All.Rows() {
		versions.Insert(row.GroupVersion.String())
		name, _, isSubresource := strings.Cut(row.Name, "/")
		switch {
		case row.GroupVersion != wanted:
		case !isSubresource:
			resources.Insert(name)
		case name == info.Resource:
			subresources.Insert(row.Name)
		}
	}
	switch {
	case !versions.Has(wanted.String()):
		return sets.List(versions), false
	case !resources.Has(info.Resource):
		return sets.List(resources), true
	case info.Subresource != "" && !subresources.Has(info.Resource+"/"+info.Subresource):
		return sets.List(subresources), true
	}
	return nil, true
}
