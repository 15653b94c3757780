package endpoints

import (
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// notFound returns the error for a path that nothing serves. Its message begins with today's words. After them
// it has the names that the server knows instead of the unknown one (K87).
func (s *Server) notFound(info *request.Info) error {
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
	if names := s.known(info); len(names) > 0 {
		slices.Sort(names)
		err.ErrStatus.Message += ": there are " + strings.Join(names, ", ")
	}
	return err
}

// known returns all versions if that of a request is unknown, all resources of the version if the resource is, or
// all subresources of the resource. It returns nil if the request is for no resource, or all is known.
func (s *Server) known(info *request.Info) (names []string) {
	version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	resources := s.resources[version]
	switch {
	case !info.IsResource:
		return nil
	case resources == nil:
		for version := range s.resources {
			names = append(names, version.String())
		}
		return names
	case resources[info.Resource] == nil:
		return namesBelow(resources, "")
	case info.Subresource != "" && resources[info.Resource+"/"+info.Subresource] == nil:
		return namesBelow(resources, info.Resource+"/")
	}
	return nil
}

// namesBelow returns the names that have a prefix and no slash after it.
func namesBelow(resources map[string]*rest.Resource, prefix string) (names []string) {
	for name := range resources {
		if below, ok := strings.CutPrefix(name, prefix); ok && !strings.Contains(below, "/") {
			names = append(names, name)
		}
	}
	return names
}
