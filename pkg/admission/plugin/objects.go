package plugin

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// WantsObjects is a plugin that needs the store of the objects, and the catalogs of their resources, before the first
// request. Untraced is the same store, for the reads of each request.
type WantsObjects interface {
	SetObjects(objects, untraced storage.Interface, catalogs rest.Catalogs)
}

// ReadsOnce is a plugin that reads by what it decides before the first request, so that no request waits for it.
type ReadsOnce interface{ ReadOnce() error }

// Objects reads the objects of a kind by which a plugin decides. It reads the cache of the store, so a decision may miss
// an object that another server has created just before. It is safe for concurrent use.
type Objects[T runtime.Object] struct {
	Store storage.Interface
	Kind  api.Kind
	Codec *v1.Codec

	isRead atomic.Bool // the cache is as new as the start of this process
}

// NewObjects returns a reader of the objects of a kind.
func NewObjects[T runtime.Object](store storage.Interface, stored api.Kind, kind schema.GroupVersionKind) *Objects[T] {
	return &Objects[T]{Store: store, Kind: stored, Codec: v1.NewCodec(kind, stored, v1.Scheme)}
}

// Stored returns the stored objects in a namespace, sorted by name. They are shared and must not be changed.
func (o *Objects[T]) Stored(namespace string) ([]*storage.Object, error) {
	if err := o.read(); err != nil {
		return nil, err
	}
	list, err := o.Store.Cached().List(storage.Selection{Kind: o.Kind, Namespace: namespace})
	if err != nil {
		return nil, o.failed(err)
	}
	return list.Items, nil
}

// Changed returns the version of the last change of an object, or a later one.
func (o *Objects[T]) Changed() (uint64, error) {
	if err := o.read(); err != nil {
		return 0, err
	}
	changed, err := o.Store.Cached().Changed(o.Kind)
	if err != nil {
		return 0, o.failed(err)
	}
	return changed, nil
}

// read reads the objects from the store once, so that the cache has them.
func (o *Objects[T]) read() error {
	if o.isRead.Load() {
		return nil
	}
	if _, err := o.Store.List(storage.Selection{Kind: o.Kind}); err != nil {
		return o.failed(err)
	}
	o.isRead.Store(true)
	return nil
}

func (o *Objects[T]) failed(err error) error {
	return rest.StatusError(err, schema.GroupResource{Group: o.Codec.Kind.Group, Resource: string(o.Kind)}, "")
}

// None reports whether there are certainly no objects in a namespace.
func (o *Objects[T]) None(namespace string) bool {
	stored, err := o.Stored(namespace)
	return err == nil && len(stored) == 0
}

// In returns the objects in a namespace, sorted by name. They are shared and must not be changed.
func (o *Objects[T]) In(namespace string) (all []T, err error) {
	stored, err := o.Stored(namespace)
	if err != nil {
		return nil, err
	}
	for _, one := range stored {
		object, err := o.Decode(one)
		if err != nil {
			return nil, err
		}
		all = append(all, object)
	}
	return all, nil
}

// Get returns an object, nil if there is none. One that is not in the cache may have just been made: the store is asked. It is shared and
// must not be changed.
func (o *Objects[T]) Get(namespace, name string) (object T, err error) {
	key := api.Key{Kind: o.Kind, Namespace: namespace, ID: name}
	stored, err := o.Store.Cached().Get(key)
	if err != nil {
		stored, err = o.Store.Get(key)
	}
	return o.out(stored, err)
}

// GetCached is Get, but asks the cache alone.
func (o *Objects[T]) GetCached(namespace, name string) (object T, err error) {
	if err := o.read(); err != nil {
		return object, err
	}
	return o.out(o.Store.Cached().Get(api.Key{Kind: o.Kind, Namespace: namespace, ID: name}))
}

func (o *Objects[T]) out(stored *storage.Object, err error) (object T, _ error) {
	switch {
	case api.KindOf(err) == api.NotFound:
		return object, nil
	case err != nil:
		return object, o.failed(err)
	}
	return o.Decode(stored)
}

// Decode converts a stored object.
func (o *Objects[T]) Decode(stored *storage.Object) (object T, err error) {
	converted, err := o.Codec.ToVersioned(stored.Object)
	if err != nil {
		return object, err
	}
	return converted.(T), nil
}
