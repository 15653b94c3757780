// Package rest is what lies between the second door's HTTP and its storages: which verbs a storage
// may have, and what it is asked and answers. It knows no kind by name.
package rest

import (
	"context"
	"io"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/conversion"
)

// Object is an object of a version of the API: a pointer to one of its types.
type Object = interface {
	metav1.Object
	runtime.Object
}

// Key names an object. The namespace is "" for a kind that has none, and in a list for
// all namespaces.
type Key struct{ Namespace, Name string }

// HasObjects reports whether there can be namespaced objects in a namespace, "" for all.
func HasObjects(namespace string) bool {
	return namespace == v1.Namespace || namespace == metav1.NamespaceAll
}

// The interfaces that the storage of a resource may have are its verbs. Their methods may
// be called concurrently. Their errors are *errors.StatusError of apimachinery, in the
// words of today's server; any other error is an internal one.

// Getter reads one object.
type Getter interface {
	Get(ctx context.Context, key Key) (Answer, error)
}

// Streamer reads what is a text and no object, as it comes: the caller closes it. The query is
// what the client asks for.
type Streamer interface {
	Stream(ctx context.Context, key Key, query url.Values) (io.ReadCloser, error)
}

// Lister reads the objects that a list asks for.
type Lister interface {
	List(ctx context.Context, namespace string, options ListOptions) (*List, error)
}

// Watcher reports what happens to the objects that a list asks for.
type Watcher interface {
	Watch(ctx context.Context, namespace string, options WatchOptions) (*Watch, error)
}

// Creater stores a new object, which it owns from then on.
type Creater interface {
	New() Object
	Create(ctx context.Context, key Key, object Object, options WriteOptions) (Answer, error)
}

// Updater replaces an object by what change makes of it. Change is given a copy of the
// present object, or nil if there is none and it may be created; it may be called
// several times.
type Updater interface {
	New() Object
	Update(ctx context.Context, key Key, change Change, options WriteOptions) (answer Answer, created bool, err error)
}

// Change makes a new version of an object.
type Change func(current Object) (Object, error)

// Deleter deletes an object.
type Deleter interface {
	Delete(ctx context.Context, key Key, options DeleteOptions) (Answer, error)
}

// CollectionDeleter deletes the objects that a list asks for, and returns them.
type CollectionDeleter interface {
	DeleteCollection(ctx context.Context, namespace string, options ListOptions, deletion DeleteOptions) (*List, error)
}

// Answer is an object on its way to a client: one that is stored, or one that was made
// for the answer.
type Answer interface {
	// Object returns the object of the API's version, with its kind set. It shares parts with
	// others: nobody changes it.
	Object() (runtime.Object, error)
	// Encode returns its JSON.
	Encode() (conversion.Encoded, error)
	// Metadata returns the JSON of its metadata, nil if it has none.
	Metadata() ([]byte, error)
}
