package endpoints

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kube2014/pkg/server/request"
)

// notFound returns the error for a path that nothing serves. Its message begins with the words of today's
// server; the known names follow (K87).
func (s *Server) notFound(info *request.Info) error {
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
	if names := s.known(info); len(names) > 0 {
		err.ErrStatus.Message += ": there are " + strings.Join(names, ", ")
	}
	return err
}

// known returns all versions if that of a request is unknown, all resources of the version if the resource is, or
// all subresources of the resource. It returns nil if the request is for no resource, or all is known.
func (s *Server) known(info *request.Info) []string {
	if !info.IsResource {
		return nil
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
		return sets.List(versions)
	case !resources.Has(info.Resource):
		return sets.List(resources)
	case info.Subresource != "" && !subresources.Has(info.Resource+"/"+info.Subresource):
		return sets.List(subresources)
	}
	return nil
}
