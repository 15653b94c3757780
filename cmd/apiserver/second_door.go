package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
	rbacauthorizer "kube2014/pkg/auth/authorizer/rbac"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/endpoints/discovery"
	"kube2014/pkg/endpoints/openapi"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/rbac"
	"kube2014/pkg/rest/reviews"
	"kube2014/pkg/server"
	"kube2014/pkg/ui"
)

// servesToday reports whether today's API is served. It is not if paths of it belong to
// June 2014's, whose flag is older.
func servesToday(o *options.ServerRunOptions) bool {
	prefix := o.Generic.Prefix
	hidden := o.APIEnablement.Serves(v1beta1.Version) && prefix != "" &&
		slices.ContainsFunc([]string{"/api/v1/", "/apis", "/openapi", "/version", "/livez", "/readyz", ui.Path},
			func(path string) bool { return strings.HasPrefix(path, prefix) })
	return o.APIEnablement.Serves(v1.Version) && !hidden
}

// pathsInWords returns where the versions of the API and the page are served.
func pathsInWords(o *options.ServerRunOptions) string {
	var paths []string
	if o.APIEnablement.Serves(v1beta1.Version) {
		paths = append(paths, cmp.Or(o.Generic.Prefix, "/"))
	}
	if servesToday(o) {
		paths = append(paths, "/api/"+v1.Version, ui.Path)
	}
	return cmp.Or(strings.Join(paths, " and "), "/ without a version of the API")
}

// openSecond puts the second door beside the first one, unless it is turned off.
func (m *master) openSecond(o *options.ServerRunOptions, scheduler registry.Scheduler) {
	if !servesToday(o) {
		return
	}
	if o.Generic.Scheduler == options.NoScheduler {
		scheduler = nil
	}
	placer := registry.MakePodPlacer(m.stores.objects, scheduler)
	m.loops.placePending, m.loops.mayBeFree = m.tracer.Sync("PodPlacer.PlacePending", placer.PlacePending), placer.Changes
	if o.Generic.MachinesByUser || scheduler != nil {
		objects := m.stores.objects
		m.loops.register = m.tracer.Sync("RegisterMachines", func() error { return registry.RegisterMachines(objects, o.Generic.Machines) })
	}
	m.second = m.secondDoor(o, placer)
	m.first.Next = m.second
}

// secondDoor returns the server of today's API over the same objects.
func (m *master) secondDoor(o *options.ServerRunOptions, placer *registry.PodPlacer) *endpoints.Server {
	resources, types := reviews.Resources(reviews.Config{Authorizer: m.rights, Rules: m.rights, Tokens: m.tokens, Now: time.Now}), reviews.Types()
	if m.roles.Policy != nil {
		check := &rbac.Escalation{Authorizer: m.rights, CheckGrant: rbacauthorizer.New(&m.roles).CheckGrant}
		resources = append(resources, rbac.Resources(m.stores.objects, v1.Scheme, time.Now, check)...)
		maps.Copy(types, rbac.Types())
	}
	resources = append(resources, core.Resources(core.Config{Objects: m.stores.objects, Scheme: v1.Scheme, Placer: placer, Now: time.Now, EventTTL: o.Etcd.EventTTL, Kubelets: m.kubelets})...)
	maps.Copy(types, core.Types())
	second := endpoints.New(resources, time.Now)
	second.WriteTimeout = requestTimeout
	groups := discovered(resources)
	documents := discovery.New(groups)
	for _, path := range documents.Paths() {
		second.Handle(path, documents.Handler(path))
		second.Handle(strings.TrimSuffix(path, "/")+"/", documents.Handler(path))
	}
	description := openapi.New(groups, types)
	second.Handle("/openapi/v3", description)
	second.HandlePrefix("/openapi/v3/", description)
	second.Handle("/openapi/v2", openapi.Empty())
	second.Handle("/version", server.Version(version))
	second.Handle("/version/", server.Version(version))
	return second
}

// discovered returns the table of resources as discovery shows it.
func discovered(resources []rest.Resource) (groups []discovery.Group) {
	at := map[schema.GroupVersion]int{}
	for _, resource := range resources {
		i, known := at[resource.GroupVersion]
		if !known {
			i = len(groups)
			at[resource.GroupVersion] = i
			groups = append(groups, discovery.Group{Name: resource.GroupVersion.Group, Versions: []discovery.Version{{Name: resource.GroupVersion.Version}}})
		}
		version := &groups[i].Versions[0]
		version.Resources = append(version.Resources, resource.APIResource())
	}
	return groups
}
