package plugin

import (
	"cmp"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// classes reads the objects of a cluster-scoped kind with few objects, such as priority classes. It converts them once,
// as each pod is decided about by them. It is safe for concurrent use.
type classes[T admission.Object] struct {
	*Objects[T]
	latest atomic.Pointer[converted[T]]
}

// converted is immutable.
type converted[T any] struct {
	changed uint64 // the version of the last change of an object
	all     []T
}

var _ WantsObjects = (*classes[admission.Object])(nil)

// newClasses returns a reader of a kind, whose objects are stored under the name of the resource. It needs SetObjects
// before its first use.
func newClasses[T admission.Object](kind schema.GroupVersionKind, resource api.Kind) *classes[T] {
	return &classes[T]{Objects: NewObjects[T](nil, resource, kind)}
}

// SetObjects implements WantsObjects.
func (c *classes[T]) SetObjects(_, untraced storage.Interface, _ rest.Catalogs) { c.Store = untraced }

// ReadOnce implements ReadsOnce.
func (c *classes[T]) ReadOnce() error { return c.read() }

// all returns the classes, sorted by name. They are shared and must not be changed.
func (c *classes[T]) all() ([]T, error) {
	changed, err := c.Changed()
	if err != nil {
		return nil, err
	}
	if last := c.latest.Load(); last != nil && last.changed == changed {
		return last.all, nil
	}
	all, err := c.In("")
	if err != nil {
		return nil, err
	}
	c.latest.Store(&converted[T]{changed, all}) // a change after the version may be in it, and is read again
	return all, nil
}

// get returns a class, nil if there is none.
func (c *classes[T]) get(name string) (class T, err error) {
	all, err := c.all()
	if err != nil {
		return class, err
	}
	if i, found := slices.BinarySearchFunc(all, name, func(one T, name string) int { return cmp.Compare(one.GetName(), name) }); found {
		return all[i], nil
	}
	return c.Get("", name)
}

// marked returns the newest of the classes that an annotation marks as default, nil if there is none. Of several that
// are as new, it is the first by name.
func (c *classes[T]) marked(annotations ...string) (class T, err error) {
	all, err := c.all()
	if err != nil {
		return class, err
	}
	isMarked := func(one T) bool {
		return slices.ContainsFunc(annotations, func(annotation string) bool { return one.GetAnnotations()[annotation] == "true" })
	}
	var newest metav1.Time
	found := false
	for _, one := range all {
		if created := one.GetCreationTimestamp(); isMarked(one) && (!found || newest.Before(&created)) {
			class, newest, found = one, created, true
		}
	}
	return class, nil
}
