package flowcontrol

import (
	"context"
	"errors"
	"log"
	"slices"
	"sync"
	"sync/atomic"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/server/flowcontrol"
	"kube2014/pkg/storage"
)

// Followed has the flow schemas and the priority levels in the cache of a store, for a server that reads them for each request.
// It sees the changes of this process at once, those of other apiservers as soon as the cache does. It is safe for concurrent use.
type Followed struct {
	objects storage.Interface
	mu      sync.Mutex // held while the latest is replaced
	latest  atomic.Pointer[followed]
}

// followed is an immutable state.
type followed struct {
	flowcontrol.Objects
	changed [2]uint64 // the versions of the last changes of schemas and levels
}

// NewFollowed returns what follows a store. It may be empty until Load has succeeded.
func NewFollowed(objects storage.Interface) *Followed {
	f := &Followed{objects: objects}
	f.latest.Store(&followed{})
	return f
}

// Load fills the store's cache and keeps it following the changes of other apiservers. It may be called again after an error.
func (f *Followed) Load() error {
	list, err := f.objects.List(storage.Selection{Kind: flows.Row.Stored})
	if err != nil {
		return err
	}
	watcher, err := f.objects.Watch(storage.Selection{Kind: flows.Row.Stored}, list.Version)
	if err == nil {
		watcher.Stop() // the cache continues to follow
	}
	return err
}

// Objects returns the present state, the same pointer while nothing has changed. If the cache cannot be read, it is the last state.
func (f *Followed) Objects() *flowcontrol.Objects {
	reader := f.objects.Cached()
	changed, err := changes(reader)
	if latest := f.latest.Load(); err != nil || latest.changed == changed {
		return &latest.Objects
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	latest := f.latest.Load()
	if changed, err = changes(reader); err != nil || latest.changed == changed {
		return &latest.Objects // another goroutine was first
	}
	next := &followed{changed: changed} // changes after this may already be in the lists, or come with the next state
	var errs [2]error
	next.Schemas, errs[0] = all[*flowcontrolv1.FlowSchema](reader, flows.Row)
	next.Levels, errs[1] = all[*flowcontrolv1.PriorityLevelConfiguration](reader, levels.Row)
	if errors.Join(errs[:]...) != nil {
		return &latest.Objects
	}
	f.latest.Store(next)
	return &next.Objects
}

func changes(reader storage.Reader) (changed [2]uint64, err error) {
	if changed[0], err = reader.Changed(flows.Row.Stored); err == nil {
		changed[1], err = reader.Changed(levels.Row.Stored)
	}
	return changed, err
}

// all returns the objects of a kind that can be read.
func all[T rest.Object](reader storage.Reader, row rest.Resource) (objects []T, err error) {
	list, err := reader.List(storage.Selection{Kind: row.Stored})
	if err != nil {
		return nil, err
	}
	converter := v1.NewConverter(row.Kind, row.Stored, row.Types())
	for _, stored := range list.Items {
		object, err := converter.Out(stored.Object)
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
func TellDangling(ctx context.Context, b generic.Base) {
	store, _ := flows.Build(b)
	var both sync.WaitGroup
	for _, kind := range []api.Kind{flows.Row.Stored, levels.Row.Stored} {
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
