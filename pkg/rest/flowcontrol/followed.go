package flowcontrol

import (
	"context"
	"log"
	"slices"
	"sync"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/flowcontrol"
	"kube2014/pkg/storage"
)

// NewFollowed returns the flow schemas and the priority levels in a store. It may be empty until Load has succeeded.
func NewFollowed(objects storage.Interface) *rest.Followed[flowcontrol.Objects] {
	return rest.Follow(objects, func(reader storage.Reader, _ flowcontrol.Objects) (next flowcontrol.Objects, err error) {
		if next.Schemas, err = all[*flowcontrolv1.FlowSchema](reader, flows.Row); err == nil {
			next.Levels, err = all[*flowcontrolv1.PriorityLevelConfiguration](reader, levels.Row)
		}
		return next, err
	}, flows.Row.StoredKind, levels.Row.StoredKind)
}

// all returns the objects of a kind that can be read.
func all[T rest.Object](reader storage.Reader, row rest.Resource) (objects []T, err error) {
	list, err := reader.List(storage.Selection{Kind: row.StoredKind})
	if err != nil {
		return nil, err
	}
	converter := v1.NewConverter(row.Kind, row.StoredKind, row.Types())
	for _, stored := range list.Items {
		object, err := converter.ToVersioned(stored.Object)
		if err != nil {
			log.Printf("%s %s is not used: %s", stored.Key().Kind, api.Quote(stored.Key().ID), api.Printable(err.Error(), ' '))
			continue
		}
		objects = append(objects, object.(T))
	}
	return objects, nil
}

// Defaults returns new objects: those of a new server.
func Defaults() flowcontrol.Objects {
	return flowcontrol.Objects{Schemas: builtInFlows(), Levels: builtInLevels()}
}

// Mandatory returns new objects: the schemas and the levels that are in use even if they are not stored.
func Mandatory() flowcontrol.Objects {
	m := Defaults()
	m.Schemas = slices.DeleteFunc(m.Schemas, func(o *flowcontrolv1.FlowSchema) bool { return !isMandatory(o.Name) })
	m.Levels = slices.DeleteFunc(m.Levels, func(o *flowcontrolv1.PriorityLevelConfiguration) bool { return !isMandatory(o.Name) })
	return m
}

// TellDangling keeps the condition of each flow schema that tells whether its level exists, until the context ends. It is safe to run
// on several servers at once.
func TellDangling(ctx context.Context, b rest.Base) {
	store, _ := flows.Build(b)
	var both sync.WaitGroup
	for _, kind := range []api.Kind{flows.Row.StoredKind, levels.Row.StoredKind} {
		both.Go(func() {
			storage.Follow(ctx, b.Objects, kind, func([]storage.Event, uint64, bool) {
				if err := tellDangling(ctx, store); err != nil && ctx.Err() == nil {
					log.Printf("the flow schemas are not told whether their levels exist: %v", err)
				}
			})
		})
	}
	both.Wait()
}
