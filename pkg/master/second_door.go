package master

import (
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "kube2014/pkg/api/v1"
	rbacauthorizer "kube2014/pkg/auth/authorizer/rbac"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/endpoints/discovery"
	"kube2014/pkg/endpoints/openapi"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/rbac"
	"kube2014/pkg/rest/reviews"
	"kube2014/pkg/server"
)

// CreateKubeAPIServer returns the server of today's API over the same objects. The placer chooses
// the machines of pods.
func (m *Master) CreateKubeAPIServer(placer *registry.PodPlacer) *endpoints.Server {
	resources, types := reviews.Resources(reviews.Config{Authorizer: m.rights, Rules: m.rights, Tokens: m.tokens, Now: time.Now}), reviews.Types()
	if m.Roles.Policy != nil {
		check := &rbac.Escalation{Authorizer: m.rights, CheckGrant: rbacauthorizer.New(&m.Roles).CheckGrant}
		resources = append(resources, rbac.Resources(m.Stores.Objects, v1.Scheme, time.Now, check)...)
		maps.Copy(types, rbac.Types())
	}
	resources = append(resources, core.Resources(core.Config{Objects: m.Stores.Objects, Scheme: v1.Scheme, Placer: placer, Now: time.Now, EventTTL: m.o.Etcd.EventTTL, Kubelets: m.Kubelets})...)
	maps.Copy(types, core.Types())
	second := endpoints.New(resources, time.Now)
	second.WriteTimeout, second.MinWatchTime = m.config.RequestTimeout, m.o.Generic.MinRequestTimeout
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
	second.Handle("/version", server.Version(m.config.Version))
	second.Handle("/version/", server.Version(m.config.Version))
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
