package rest

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/conversion"
)

// Key names an object. The namespace is "" for a kind that has none, and in a list for
// all namespaces.
type Key struct{ Namespace, Name string }

// The interfaces that the storage of a resource may have are its verbs. Their methods may
// be called concurrently. Their errors are *errors.StatusError of apimachinery, in the
// words of today's server; any other error is an internal one.

// Getter reads one object.
type Getter interface {
	Get(ctx context.Context, key Key) (Answer, error)
}

// Lister reads the objects that a list asks for.
type Lister interface {
	List(ctx context.Context, namespace string, options ListOptions) (*List, error)
}

// Watcher tells what happens to the objects that a list asks for.
type Watcher interface {
	Watch(ctx context.Context, namespace string, options WatchOptions) (*Watch, error)
}

// Creater stores a new object, which it owns from then on.
type Creater interface {
	New() Object
	Create(ctx context.Context, key Key, object Object, dryRun bool) (Answer, error)
}

// Updater replaces an object by what change makes of it. Change is given a copy of the
// present object, or nil if there is none and it may be created; it may be called
// several times.
type Updater interface {
	New() Object
	Update(ctx context.Context, key Key, change Change, dryRun bool) (answer Answer, created bool, err error)
}

// Change makes a new version of an object.
type Change func(current Object) (Object, error)

// Deleter deletes an object.
type Deleter interface {
	Delete(ctx context.Context, key Key, options metav1.DeleteOptions) (Answer, error)
}

// CollectionDeleter deletes the objects that a list asks for, and returns them.
type CollectionDeleter interface {
	DeleteCollection(ctx context.Context, namespace string, options ListOptions, deletion metav1.DeleteOptions) (*List, error)
}

// ListOptions are what a list asks for.
type ListOptions struct {
	Labels          labels.Selector
	Fields          fields.Selector
	Limit           int64
	Continue        string
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
}

// WatchOptions are what a watch asks for. Limit, Continue and Match mean nothing.
type WatchOptions struct {
	ListOptions
	// Initial is whether the present objects come first, as if they were added then. They
	// are of the ResourceVersion or a later one. Else a watch begins after that version,
	// and now if there is none. A nil Initial is true if the version is 0 or none.
	Initial *bool
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
