package v1

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/util/quantity"
)

// Object is a pointer to one of today's objects.
type Object interface {
	metav1.Object
	runtime.Object
}

// Resource has the operations on the objects of a kind, such as *corev1.Pod. The caller
// owns what it returns; what it is given is not changed.
type Resource[T Object] struct {
	client  *Client
	version schema.GroupVersion
	parent  []string // of the path, below that of the version
	plural  string
	kind    schema.GroupVersionKind
	form    string // what the client accepts, after the type; %s is the kind
	new     func() T
}

// List is a list of objects, or a page of it. It has the fields of a corev1.PodList and the
// like.
type List[T Object] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []T `json:"items"`

	new func() T
}

// pageSize is the default number of objects of a page of All.
const pageSize = 500

// pointer is the pointer to a struct, as an Object.
type pointer[S any] interface {
	*S
	Object
}

func resource[S any, T pointer[S]](c *Client, parent []string, plural, kind string) Resource[T] {
	return Resource[T]{client: c, version: corev1.SchemeGroupVersion, parent: parent, plural: plural, kind: corev1.SchemeGroupVersion.WithKind(kind), new: func() T { return new(S) }}
}

func namespaced[S any, T pointer[S]](c *Client, plural, kind string) Resource[T] {
	return resource[S, T](c, []string{"namespaces", cmp.Or(c.Namespace, metav1.NamespaceDefault)}, plural, kind)
}

// of returns the resource of a version of a group.
func (r Resource[T]) of(version schema.GroupVersion) Resource[T] {
	r.version, r.kind = version, version.WithKind(r.kind.Kind)
	return r
}

// Everywhere returns the objects of all namespaces. They can only be listed and watched.
func (r Resource[T]) Everywhere() Resource[T] {
	r.parent = nil
	return r
}

// Get returns an object.
func (r Resource[T]) Get(ctx context.Context, name string) (T, error) {
	return r.send(ctx, r.to(http.MethodGet, name))
}

// Create stores a new object, and returns it as stored.
func (r Resource[T]) Create(ctx context.Context, object T) (T, error) {
	return r.write(ctx, r.to(http.MethodPost), object)
}

// Update replaces an object, all but its status, and returns it as stored. If it has a
// resourceVersion, the error is a conflict unless that is the stored one's.
func (r Resource[T]) Update(ctx context.Context, object T) (T, error) {
	return r.write(ctx, r.to(http.MethodPut, object.GetName()), object)
}

// UpdateStatus is Update, but of the status and not of the spec.
func (r Resource[T]) UpdateStatus(ctx context.Context, object T) (T, error) {
	return r.write(ctx, r.to(http.MethodPut, object.GetName(), "status"), object)
}

// Change gets an object, lets change edit it, and updates it. After a conflict it retries. It
// returns the object as stored, or the error of change. change must leave the uid and the
// resourceVersion as they are.
func (r Resource[T]) Change(ctx context.Context, name string, change func(T) error) (T, error) {
	for {
		object, err := r.Get(ctx, name)
		if err == nil {
			err = change(object)
		}
		if err != nil {
			var none T
			return none, err
		}
		if object, err = r.Update(ctx, object); !apierrors.IsConflict(err) {
			return object, err
		}
	}
}

// Patch changes an object, or a subresource such as "status", by a patch of a type, and
// returns the object as stored.
func (r Resource[T]) Patch(ctx context.Context, name string, how types.PatchType, patch []byte, subresource ...string) (T, error) {
	sent := r.to(http.MethodPatch, append([]string{name}, subresource...)...)
	sent.contentType, sent.body = string(how), patch
	return r.send(ctx, sent)
}

// DeleteCollection deletes the objects that list options select. It ignores those that others delete meanwhile.
func (r Resource[T]) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, selected metav1.ListOptions) error {
	sent := r.to(http.MethodDelete).with(options).inJSON()
	var err error
	if sent.query, err = queryparams.Convert(&selected); err != nil {
		return sent.failed(err)
	}
	return r.client.do(ctx, sent, &metav1.TypeMeta{}) // of a list, or a status
}

// Delete deletes an object, or begins to: a pod may be given a time to end.
func (r Resource[T]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return r.client.do(ctx, r.to(http.MethodDelete, name).with(options).inJSON(), &metav1.TypeMeta{}) // of the object, or a status
}

// List returns the objects that the options select. With a limit it is one page: the next
// one begins at Continue, until that is empty.
func (r Resource[T]) List(ctx context.Context, options metav1.ListOptions) (*List[T], error) {
	options.Watch = false
	sent, list := r.to(http.MethodGet).as(r.form, r.kind.Kind+"List"), &List[T]{new: r.new}
	var err error
	if sent.query, err = queryparams.Convert(&options); err != nil {
		return nil, sent.failed(err)
	}
	if err = r.client.do(ctx, sent, list); err == nil {
		err = sent.expect(r.kind.Kind+"List", list.Kind)
	}
	if err != nil {
		return nil, err
	}
	if number := slices.IndexFunc(list.Items, isNull); number >= 0 {
		return nil, sent.failed(fmt.Errorf("item %d of the list is null", number))
	}
	return list, nil
}

func isNull[T Object](object T) bool {
	var none T
	return any(object) == any(none)
}

// All goes through the objects that the options select, page by page; all pages are of one
// version. After an error it ends: errors.IsResourceExpired says that the version has been
// forgotten meanwhile, so that the caller must begin again.
func (r Resource[T]) All(ctx context.Context, options metav1.ListOptions) iter.Seq2[T, error] {
	if options.Limit == 0 {
		options.Limit = pageSize
	}
	return func(yield func(T, error) bool) {
		options := options // each loop begins with the first page
		for {
			page, err := r.List(ctx, options)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, object := range page.Items {
				if !yield(object, nil) {
					return
				}
			}
			if page.Continue == "" {
				return
			}
			options.Continue, options.ResourceVersion, options.ResourceVersionMatch = page.Continue, "", "" // the token says them
		}
	}
}

// to returns a request to the objects, to one of them, or to a part of it.
func (r Resource[T]) to(method string, names ...string) request {
	return request{method: method, version: r.version, path: slices.Concat(r.parent, []string{r.plural}, names)}.as(r.form, r.kind.Kind)
}

// write sends a request with an object: in protobuf, unless its kind may be an own one.
func (r Resource[T]) write(ctx context.Context, sent request, object T) (T, error) {
	sent = sent.with(object)
	if m, ok := any(object).(interface{ Marshal() ([]byte, error) }); ok && r.form == "" {
		text, err := encodeMessage(r.kind, m)
		if err != nil {
			var none T
			return none, sent.failed(err)
		}
		if !quantity.HugeInProtobuf(text) { // the server would refuse a name that looks like one
			sent.contentType, sent.body = runtime.ContentTypeProtobuf, text
		}
	}
	return r.send(ctx, sent)
}

// send sends a request that is answered with an object.
func (r Resource[T]) send(ctx context.Context, sent request) (T, error) {
	object := r.new()
	err := r.client.do(ctx, sent, object)
	if err == nil {
		err = sent.expect(r.kind.Kind, object.GetObjectKind().GroupVersionKind().Kind)
	}
	if err != nil {
		var none T
		return none, err
	}
	return object, nil
}
