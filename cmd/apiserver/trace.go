package main

import (
	"io"
	"net/http"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/registry"
	"kube2014/pkg/trace"
)

// assembleTraced is assemble with a tracing decorator between any two layers.
func assembleTraced(o *options, narration io.Writer) (stores registries, handler http.Handler, err error) {
	t := trace.New(narration)
	stores = registriesInMemory(registry.MakeRegistry(t.Store(registry.MakeMemoryRegistry().Objects())))
	if len(o.etcd.Servers) > 0 {
		stores, err = o.etcdRegistries(around{etcd2: t.EtcdClient, etcd3: t.Etcd3Client, store: t.Store})
		if err != nil {
			return stores, nil, err
		}
		stores.healthz = t.Healthz("EtcdRegistry.Healthz", stores.healthz)
		stores.reconcile = t.Sync("EtcdRegistry.Reconcile", stores.reconcile)
	}
	stores.tasks = t.TaskRegistry(stores.tasks)
	stores.controllers = t.ControllerRegistry(stores.controllers)
	stores.services = t.ServiceRegistry(stores.services)
	endpoints := registry.MakeEndpointController(stores.services, stores.tasks)
	stores.syncEndpoints = t.Sync("EndpointController.SyncServiceEndpoints", endpoints.SyncServiceEndpoints)
	stores.changes = endpoints.Changes

	scheduler := t.Scheduler(o.makeScheduler(stores.tasks))
	table := storageTable(stores, t.ContainerInfo(kubelets()), scheduler)
	for resource, storage := range table {
		table[resource] = t.RESTStorage(storage)
	}
	first := o.firstDoor(table, stores.healthz)
	handler = t.Handler(o.addSecondDoor(first, &stores, t.Converter(v1.Scheme), scheduler))
	if stores.placePending != nil {
		stores.placePending = t.Sync("PodPlacer.PlacePending", stores.placePending)
	}
	if stores.register != nil {
		stores.register = t.Sync("RegisterMachines", stores.register)
	}
	return stores, handler, nil
}
