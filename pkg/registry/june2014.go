package registry

import (
	"slices"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// june2014 is a store as June 2014's API sees it: without the service of the server itself (D49).
type june2014 struct{ storage.Interface }

var _ storage.Clock = june2014{}

// Get implements storage.Reader.
func (j june2014) Get(key api.Key) (*storage.Object, error) {
	object, err := j.Interface.Get(key)
	if err == nil && key.IsServers() && api.IsServers(object) {
		return nil, api.NewNotFound(key.Kind, key.ID)
	}
	return object, err
}

// List implements storage.Reader.
func (j june2014) List(selection storage.Selection) (*storage.List, error) {
	list, err := j.Interface.List(selection)
	if err != nil || selection.Kind != api.ServiceKind && selection.Kind != api.EndpointsKind {
		return list, err
	}
	i := slices.IndexFunc(list.Items, func(object *storage.Object) bool { return api.IsServers(object) })
	if i < 0 {
		return list, nil
	}
	return &storage.List{Kind: list.Kind, Version: list.Version, Items: slices.Delete(slices.Clone(list.Items), i, i+1)}, nil
}

// checkWrite returns an error if June 2014 may not change an object.
func (j june2014) checkWrite(key api.Key) error {
	if !key.IsServers() {
		return nil
	}
	if object, err := j.Interface.Get(key); err != nil || !api.IsServers(object) {
		return nil
	}
	return &api.Error{Kind: api.Forbidden, Message: key.InWords() + " is that of the server itself"}
}

// Now implements storage.Clock.
func (j june2014) Now() time.Time { return storage.ClockOf(j.Interface)() }
