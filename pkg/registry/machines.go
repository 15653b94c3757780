package registry

import (
	"errors"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// RegisterMachines makes a node of each machine that is none yet. The error joins all
// failures.
func RegisterMachines(store storage.Interface, machines []string) error {
	var failures []error
	for _, machine := range machines {
		if _, err := store.Get(api.NodeKind, machine); api.KindOf(err) != api.NotFound {
			failures = append(failures, err)
			continue
		}
		node := &api.Node{JSONBase: api.JSONBase{ID: machine}, ObjectMeta: api.ObjectMeta{CreationTime: time.Now().UTC().Truncate(time.Second)}}
		if _, err := store.Commit(storage.Create(node)); api.KindOf(err) != api.AlreadyExists {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}
