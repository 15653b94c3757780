package storage

import (
	"context"
	"log"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/util"
)

// retryPeriod is the time between two attempts to follow objects while the store is unavailable.
const retryPeriod = time.Second / 4

// Follow calls apply with all objects of a kind, as if each were new, and then with the changes, until the context ends. It begins again
// with all objects when it has missed changes. Version is that of the store then. The same error is logged once a minute at most.
func Follow(ctx context.Context, objects Reader, kind api.Kind, apply func(changed []Event, version uint64, isAll bool)) {
	logged, at := "", time.Time{}
	for {
		if err := follow(ctx, objects, kind, apply); ctx.Err() == nil && (err.Error() != logged || time.Since(at) > time.Minute) {
			logged, at = err.Error(), time.Now()
			log.Printf("the %s are read again: %v", kind, err)
		}
		if !util.Sleep(ctx, retryPeriod) {
			return
		}
	}
}

// follow is Follow until there is an error.
func follow(ctx context.Context, objects Reader, kind api.Kind, apply func(changed []Event, version uint64, isAll bool)) error {
	all := Selection{Kind: kind}
	list, err := objects.List(all)
	if err != nil {
		return err
	}
	watcher, err := objects.Watch(all, list.Version)
	if err != nil {
		return err
	}
	defer watcher.Stop()
	var listed []Event
	for _, object := range list.Items {
		listed = append(listed, Event{After: object})
	}
	apply(listed, list.Version, true)
	for {
		changes, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		apply(changes, watcher.Version(), false)
	}
}
