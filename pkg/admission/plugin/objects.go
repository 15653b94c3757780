package plugin

import (
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

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

// Objects reads the objects of a kind by which a plugin decides. It reads the cache of the store, so a decision may miss
// an object that another server has created just before. It is safe for concurrent use.
type Objects[T runtime.Object] struct {
	Store storage.Interface
	Kind  api.Kind
	Codec *v1.Codec

	isRead atomic.Bool // the cache is as new as the start of this process
}

// NewObjects returns a reader of the objects of a kind of the core group.
func NewObjects[T runtime.Object](store storage.Interface, kind api.Kind, name string) *Objects[T] {
	return &Objects[T]{Store: store, Kind: kind, Codec: v1.NewCodec(corev1.SchemeGroupVersion.WithKind(name), kind, v1.Scheme)}
}

// stored returns the stored objects in a namespace.
func (o *Objects[T]) stored(namespace string) ([]*storage.Object, error) {
	if !o.isRead.Load() {
		if _, err := o.Store.List(storage.Selection{Kind: o.Kind}); err != nil {
			return nil, rest.StatusError(err, corev1.Resource(string(o.Kind)), "")
		}
		o.isRead.Store(true)
	}
	list, err := o.Store.Cached().List(storage.Selection{Kind: o.Kind, Namespace: namespace})
	if err != nil {
		return nil, rest.StatusError(err, corev1.Resource(string(o.Kind)), "")
	}
	return list.Items, nil
}

// None reports whether there are certainly no objects in a namespace.
func (o *Objects[T]) None(namespace string) bool {
	stored, err := o.stored(namespace)
	return err == nil && len(stored) == 0
}

// In returns the objects in a namespace, sorted by name. They are shared and must not be changed.
func (o *Objects[T]) In(namespace string) (all []T, err error) {
	stored, err := o.stored(namespace)
	if err != nil {
		return nil, err
	}
	for _, one := range stored {
		object, err := o.Codec.Out(one.Object)
		if err != nil {
			return nil, err
		}
		all = append(all, object.(T))
	}
	return all, nil
}
