package registry

import (
	"slices"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// RegisterMachines creates the missing nodes of machines. It stops at the first failure: with an
// unavailable store, each machine would wait for a timeout.
func RegisterMachines(store storage.Interface, machines []string) error {
	nodes, err := store.List(storage.InDefault(api.NodeKind))
	if err != nil {
		return err
	}
	for _, machine := range machines {
		if slices.ContainsFunc(nodes.Items, func(node *storage.Object) bool { return node.Key().ID == machine }) {
			continue
		}
		node := &api.Any{Kind: api.NodeKind, ID: machine, ObjectMeta: api.ObjectMeta{CreationTime: time.Now().UTC().Truncate(time.Second)}}
		if _, err := store.Commit(storage.Create(node)); err != nil && api.KindOf(err) != api.AlreadyExists {
			return err
		}
	}
	return nil
}
