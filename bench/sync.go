package main

import (
	"fmt"
	"time"

	"kube2014/bench/measure"
	"kube2014/pkg/api"
	"kube2014/pkg/registry"
)

// measureSync measures the endpoint sync in this process: each of 1,000 services
// selects 100 of 100,000 tasks.
func measureSync(b *bench) error {
	const services, tasks = 1000, 100000
	memory := registry.MakeMemoryRegistry()
	for i := range tasks {
		task := api.Task{JSONBase: api.JSONBase{ID: taskID(i)}, Labels: map[string]string{"name": "web", "group": fmt.Sprint("g", i%services)}}
		task.DesiredState.Manifest.Containers = []api.Container{{Name: "nginx", Ports: []api.Port{{HostPort: 1000 + i/1000, ContainerPort: 80}}}}
		if err := memory.CreateTask(machineName(i%1000), task); err != nil {
			return err
		}
	}
	endpoints := registry.MakeEndpointController(memory, memory)
	var changed, unchanged []float64
	for range runs {
		for i := range services {
			service := api.Service{JSONBase: api.JSONBase{ID: fmt.Sprint("service-", i)}, Port: 80, Labels: map[string]string{"group": fmt.Sprint("g", i)}}
			if err := memory.CreateService(service); err != nil {
				return err
			}
		}
		for _, into := range []*[]float64{&changed, &unchanged} {
			start := time.Now()
			if err := endpoints.SyncServiceEndpoints(); err != nil {
				return err
			}
			*into = append(*into, measure.Milliseconds(time.Since(start)))
		}
		for i := range services {
			if err := memory.DeleteService(fmt.Sprint("service-", i)); err != nil {
				return err
			}
		}
	}
	b.add(row{what: "endpoint sync, 1,000 services × 100,000 tasks", unit: "ms", values: changed, bound: 1000, aside: true})
	b.add(row{what: "endpoint sync when nothing changed", unit: "ms", values: unchanged, bound: 50, aside: true})
	return nil
}
