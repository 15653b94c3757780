package master

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/endpoints/discovery"
	"kube2014/pkg/endpoints/openapi"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiregistration"
	"kube2014/pkg/server"
	"kube2014/pkg/server/healthz"
)

// createAggregatorServer creates the first link. It serves what is common to all servers of today's API: discovery and
// OpenAPI, the version, and the health of the chain. It does not proxy to other servers yet.
func (m *Master) createAggregatorServer(next *server.Link) *server.Link {
	aggregator := endpoints.New(m.Second, &m.aggregated)
	documents := rest.Derived(func(rows []*rest.Resource) *discovery.Documents { return discovery.New(versionsOf(rows)) }, m.catalogs)
	aggregator.Documents = func(path string) http.Handler { return documents().Handler(path) }
	var described atomic.Pointer[openapi.Documents]
	described.Store(&openapi.Documents{})
	descriptions := rest.Derived(func(rows []*rest.Resource) *openapi.Documents {
		next := described.Load().Next(describedOf(rows), typesOf(rows))
		described.Store(next)
		return next
	}, m.catalogs)
	description := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { descriptions().ServeHTTP(w, req) })
	aggregator.Handle("/openapi/v3", description)
	aggregator.HandlePrefix("/openapi/v3/", description)
	aggregator.Handle("/openapi/v2", description)
	aggregator.Handle("/version", server.Version(m.config.Version))
	aggregator.Handle("/version/", server.Version(m.config.Version))

	link := &server.Link{Name: "aggregator", Server: aggregator, Next: next, Checks: []healthz.Check{healthz.Ping}}
	services, rows := apiregistration.Resources(m.base())
	m.aggregated.Install(rows...)
	link.AddPostStartHook("kube-apiserver-autoregistration", func(ctx context.Context) error {
		return untilDone(ctx, func() error {
			_, err := apiregistration.Register(ctx, services, apiregistration.OnStart, m.catalogs)
			return err
		})
	})
	if m.definitions != nil {
		link.AddLoop(func(ctx context.Context) {
			if m.definitions.WaitUntilFollowed(ctx) == nil {
				_ = untilDone(ctx, func() error { return apiregistration.Keep(ctx, services, &m.Extensions) })
			}
		})
	}
	return link
}

// versionsOf returns the versions of resources, for discovery.
func versionsOf(rows []*rest.Resource) (versions []discovery.Version) {
	for _, row := range rows {
		i := slices.IndexFunc(versions, func(version discovery.Version) bool { return version.GroupVersion == row.GroupVersion })
		if i < 0 {
			i = len(versions)
			versions = append(versions, discovery.Version{GroupVersion: row.GroupVersion})
		}
		versions[i].Resources = append(versions[i].Resources, row.APIResource())
	}
	slices.SortStableFunc(versions, func(a, b discovery.Version) int { return apiregistration.Compare(a.GroupVersion, b.GroupVersion) })
	return versions
}

// describedOf returns the versions of resources, for OpenAPI.
func describedOf(rows []*rest.Resource) (versions []openapi.Version) {
	byVersion := map[schema.GroupVersion][]*rest.Resource{}
	for _, row := range rows {
		byVersion[row.GroupVersion] = append(byVersion[row.GroupVersion], row)
	}
	for _, version := range versionsOf(rows) {
		versions = append(versions, openapi.Version{Version: version, Rows: byVersion[version.GroupVersion]})
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
