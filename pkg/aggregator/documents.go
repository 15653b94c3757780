package aggregator

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/endpoints/discovery"
	"kube2014/pkg/endpoints/openapi"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiregistration"
)

// installDocuments lets the server serve discovery and OpenAPI of all servers.
func (s *Server) installDocuments() {
	remote := func() any { return s.snapshot() }
	documents := rest.Derived(func(rows []*rest.Resource) *discovery.Documents { return discovery.New(s.snapshot().versions(rows)) }, s.Catalogs, remote)
	s.Documents = func(path string) http.Handler { return documents().Handler(path) }
	var described atomic.Pointer[openapi.Documents]
	described.Store(&openapi.Documents{})
	descriptions := rest.Derived(func(rows []*rest.Resource) *openapi.Documents {
		ours := slices.DeleteFunc(slices.Clone(rows), func(row *rest.Resource) bool { return s.snapshot().byPath[row.GroupVersion] != nil })
		next := described.Load().Next(versionsOf(ours), typesOf(ours), s.described()...)
		described.Store(next)
		return next
	}, s.Catalogs, remote)
	description := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { descriptions().ServeHTTP(w, req) })
	s.Handle("/openapi/v3", description)
	s.HandlePrefix("/openapi/v3/", description)
	s.Handle("/openapi/v2", description)
}

// versions returns the versions of this server's resources, and those of other servers, in the order of discovery. That of another server
// replaces one of this server.
func (others *snapshot) versions(rows []*rest.Resource) []discovery.Version {
	var versions []discovery.Version
	for _, version := range versionsOf(rows) {
		if others.byPath[version.GroupVersion] == nil {
			versions = append(versions, version.Version)
		}
	}
	for _, v := range others.byPath {
		versions = append(versions, discovery.Version{GroupVersion: v.groupVersion(), Remote: v.discovered()})
	}
	apiregistration.Sort(versions, func(version discovery.Version) (schema.GroupVersion, apiregistration.Priorities) {
		if v := others.byPath[version.GroupVersion]; v != nil {
			return version.GroupVersion, apiregistration.Priorities{Group: v.spec.GroupPriorityMinimum, Version: v.spec.VersionPriority}
		}
		p, _ := apiregistration.PrioritiesOf(version.GroupVersion)
		return version.GroupVersion, p
	})
	return versions
}

// discovered returns what the version has, as its server has said last: stale if it was not asked since, or did not answer.
func (v *remoteAPI) discovered() *apidiscovery.APIVersionDiscovery {
	if !v.found.isFresh {
		return &apidiscovery.APIVersionDiscovery{Version: v.spec.Version, Freshness: apidiscovery.DiscoveryFreshnessStale}
	}
	return &apidiscovery.APIVersionDiscovery{Version: v.spec.Version, Resources: v.found.resources, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
}

// Deletable returns the resources of other servers whose objects a client can list and delete, each in its preferred version, as far as they
// are known, and the versions of servers that do not say now what they serve. Before all APIServices have been read, that is their own version.
func (s *Server) Deletable() (resources []metav1.APIResource, stale []schema.GroupVersion) {
	if !s.Followed() {
		return nil, []schema.GroupVersion{apiregistrationv1.SchemeGroupVersion}
	}
	known, others := map[schema.GroupResource]bool{}, s.snapshot()
	for _, version := range others.versions(nil) {
		if version.Remote.Freshness != apidiscovery.DiscoveryFreshnessCurrent {
			stale = append(stale, version.GroupVersion)
		}
		for _, r := range others.byPath[version.GroupVersion].found.resources {
			at := version.WithResource(r.Resource).GroupResource()
			if known[at] || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") {
				continue
			}
			known[at] = true
			resources = append(resources, metav1.APIResource{Name: r.Resource, Group: version.Group, Version: version.GroupVersion.Version, Kind: r.ResponseKind.Kind,
				Namespaced: r.Scope == apidiscovery.ScopeNamespace, Verbs: r.Verbs})
		}
	}
	return resources, stale
}

// described returns the versions of the servers that are available, for OpenAPI.
func (s *Server) described() (remotes []openapi.Remote) {
	others := s.snapshot()
	for _, name := range slices.Sorted(maps.Keys(others.byName)) {
		if v := others.byName[name]; others.byPath[v.groupVersion()] == v && v.isAvailable && v.found.isFresh {
			remotes = append(remotes, openapi.Remote{GroupVersion: v.groupVersion(), URL: v.found.openAPI, V2: func() (*spec.Swagger, error) {
				ctx, cancel := context.WithTimeout(s.Serving, s.Timeout)
				defer cancel()
				address, err := v.address(ctx)
				if err != nil {
					return nil, err
				}
				document := &spec.Swagger{}
				if err := v.remote.document(ctx, address, "/openapi/v2", document); err != nil {
					return nil, err
				}
				return document, nil
			}})
		}
	}
	return remotes
}

// versionsOf returns the versions of resources.
func versionsOf(rows []*rest.Resource) (versions []openapi.Version) {
	for _, row := range rows {
		i := slices.IndexFunc(versions, func(version openapi.Version) bool { return version.GroupVersion == row.GroupVersion })
		if i < 0 {
			i = len(versions)
			versions = append(versions, openapi.Version{Version: discovery.Version{GroupVersion: row.GroupVersion}})
		}
		versions[i].Resources = append(versions[i].Resources, row.APIResource())
		versions[i].Rows = append(versions[i].Rows, row)
	}
	return versions
}

// typesOf returns an object of each kind of the resources, of their lists, and of the kinds that all share. Kinds
// without a Go type are left out.
func typesOf(rows []*rest.Resource) map[schema.GroupVersionKind]any {
	types := map[schema.GroupVersionKind]any{
		{Version: v1.Version, Kind: "Status"}: &metav1.Status{},
	}
	for _, row := range rows {
		for _, name := range []string{row.Kind.Kind, row.Kind.Kind + "List", "DeleteOptions", "WatchEvent"} {
			kind := row.Kind.GroupVersion().WithKind(name)
			if object, err := row.Types().New(kind); err == nil {
				types[kind] = object
			}
		}
	}
	return types
}
