package main

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/endpoints/discovery"
	"kube2014/pkg/endpoints/openapi"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
)

// addSecondDoor puts the second door beside the first one, unless it is turned off.
func (o *options) addSecondDoor(first *apiserver.ApiServer, stores *registries, scheme v1.Converter, scheduler registry.Scheduler) *apiserver.ApiServer {
	if !o.servesToday() {
		return first
	}
	if o.scheduler == noScheduler {
		scheduler = nil
	}
	placer := registry.MakePodPlacer(stores.objects, scheduler)
	stores.placePending, stores.mayBeFree = placer.PlacePending, placer.Changes
	if o.machinesByUser || scheduler != nil {
		objects := stores.objects
		stores.register = func() error { return registry.RegisterMachines(objects, o.machines) }
	}
	second := secondDoor(*stores, scheme, placer)
	first.Next, stores.endWatches = second, second.EndWatches
	return first
}

// secondDoor returns the server of today's API over the same objects.
func secondDoor(stores registries, scheme v1.Converter, placer *registry.PodPlacer) *endpoints.Server {
	resources := core.Resources(stores.objects, scheme, placer, time.Now)
	server := endpoints.New(resources, time.Now)
	server.WriteTimeout = requestTimeout
	groups := discovered(resources)
	documents := discovery.New(groups)
	for _, path := range documents.Paths() {
		server.Handle(path, documents.Handler(path))
		server.Handle(strings.TrimSuffix(path, "/")+"/", documents.Handler(path))
	}
	description := openapi.New(groups, core.Types())
	server.Handle("/openapi/v3", description)
	server.HandlePrefix("/openapi/v3/", description)
	server.Handle("/openapi/v2", openapi.Empty())
	server.Handle("/version", endpoints.Version(version))
	checks := []endpoints.Check{endpoints.Ping}
	if stores.healthz != nil {
		checks = append(checks, endpoints.Check{Name: "etcd", Check: func() error {
			_, err := stores.healthz()
			return err
		}})
	}
	for _, name := range []string{"healthz", "livez", "readyz"} {
		server.Handle("/"+name, endpoints.Health(name, checks...))
		for _, check := range checks {
			server.Handle("/"+name+"/"+check.Name, endpoints.Health(name, check))
		}
	}
	return server
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
