package main

import (
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/trace"
)

// assembleTraced is assemble with a tracing decorator between any two layers.
func (m *master) assembleTraced(o *options.ServerRunOptions, t *trace.Tracer) (err error) {
	m.stores = registriesInMemory(registry.MakeRegistry(t.Store(registry.MakeMemoryRegistry().Objects())))
	if len(o.Etcd.Servers) > 0 {
		m.stores, err = storesOf(o).etcdRegistries(m.aroundEtcd(o).inside(around{etcd2: t.EtcdClient, etcd3: t.Etcd3Client, store: t.Store}))
		if err != nil {
			return err
		}
		m.stores.healthz = t.Healthz("EtcdRegistry.Healthz", m.stores.healthz)
		m.stores.reconcile = t.Sync("EtcdRegistry.Reconcile", m.stores.reconcile)
	}
	m.stores.tasks = t.TaskRegistry(m.stores.tasks)
	m.stores.controllers = t.ControllerRegistry(m.stores.controllers)
	m.stores.services = t.ServiceRegistry(m.stores.services)
	m.loops = loopsOver(m.stores)
	m.loops.syncEndpoints = t.Sync("EndpointController.SyncServiceEndpoints", m.loops.syncEndpoints)

	m.readRoles(o)
	scheduler := t.Scheduler(makeScheduler(o, m.stores.tasks))
	table := storageTable(m.stores, t.ContainerInfo(m.kubelets), scheduler)
	for resource, storage := range table {
		table[resource] = t.RESTStorage(storage)
	}
	m.openFirst(o, table)
	m.openSecond(o, t.Converter(v1.Scheme), scheduler)
	if m.loops.placePending != nil {
		m.loops.placePending = t.Sync("PodPlacer.PlacePending", m.loops.placePending)
	}
	if m.loops.register != nil {
		m.loops.register = t.Sync("RegisterMachines", m.loops.register)
	}
	return nil
}
