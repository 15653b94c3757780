package master

import (
	"context"
	"time"

	"kube2014/pkg/rest/generic"
	"kube2014/pkg/rest/networking"
	"kube2014/pkg/server"
	"kube2014/pkg/storage"
	"kube2014/pkg/util"
)

// repairPeriod is the period in which cluster IPs and node ports are compared with the services, as in today's server.
const repairPeriod = 3 * time.Minute

// withRanges returns a store that gives services cluster IPs and node ports if a flag has a range of them.
func (m *Master) withRanges(store storage.Interface) storage.Interface {
	if ranges := m.o.Services.Ranges; ranges.Given() {
		return networking.NewAllocator(store, ranges, time.Now)
	}
	return store
}

// base returns what the stores of built-in kinds without rules of their own share.
func (m *Master) base() generic.Base {
	return generic.Base{Objects: m.lifecycle, Now: time.Now, IgnoreDependents: !m.o.Controllers.EnableGarbageCollector}
}

// addServiceRanges lets a link create the object of the range, and repair what services hold.
func (m *Master) addServiceRanges(link *server.Link) {
	ranges := m.o.Services.Ranges
	if !ranges.Given() {
		return
	}
	allocator := networking.NewAllocator(m.Stores.Objects, ranges, time.Now)
	link.AddPostStartHook("start-kubernetes-service-cidr-controller", func(ctx context.Context) error {
		return untilDone(ctx, func() error { return networking.Bootstrap(ctx, m.base(), ranges) })
	})
	repair := m.tracer.Sync("Allocator.Repair", allocator.Repair)
	link.AddLoop(func(ctx context.Context) {
		for pause := syncPause; util.Sleep(ctx, pause); pause = repairPeriod {
			logError(repair())
		}
	})
}
