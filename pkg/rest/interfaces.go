// Package rest is the interface between the second door's HTTP and its storages: the verbs that a
// storage may have, their options and their answers. It knows no kind by name.
package rest

import (
	"context"
	"io"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/api/conversion"
)

// Object is an object of a version of the API: a pointer to one of its types.
type Object = interface {
	metav1.Object
	runtime.Object
}

// Key names an object. The namespace is "" for a kind that has none, and in a list for
// all namespaces.
type Key struct{ Namespace, Name string }

// The verbs of a resource are the following interfaces that its storage implements. Their
// methods may be called concurrently. Their errors are *errors.StatusError of apimachinery,
// in the words of today's server; any other error is an internal one.

// Getter reads one object.
type Getter interface {
	Get(ctx context.Context, key Key) (Answer, error)
}

// Streamer returns a text instead of an object, as a stream that the caller must close. The
// query is that of the client's request.
type Streamer interface {
	Stream(ctx context.Context, key Key, query url.Values) (io.ReadCloser, error)
}

// Lister reads the objects that the options select.
type Lister interface {
	List(ctx context.Context, namespace string, options ListOptions) (*List, error)
}

// Watcher reports the changes of the objects that the options select.
type Watcher interface {
	Watch(ctx context.Context, namespace string, options WatchOptions) (*Watch, error)
}

// Creater stores a new object, and takes ownership of it.
type Creater interface {
	New() Object
	Create(ctx context.Context, key Key, object Object, options WriteOptions) (Answer, error)
}

// Updater replaces an object by the result of change. The argument of change is a copy of
// the current object, or nil if there is none and it may be created. It may be called
// several times.
type Updater interface {
	New() Object
	Update(ctx context.Context, key Key, change Change, options WriteOptions) (answer Answer, created bool, err error)
}

// Change returns the new version of an object.
type Change func(current Object) (Object, error)

// Applier merges the configuration that a manager applies into the current object, which it may change; nil if there is none.
// The result is for an Update without a manager.
type Applier interface {
	Apply(current Object, configuration *unstructured.Unstructured, manager string, force bool) (Object, error)
}

// Deleter deletes an object.
type Deleter interface {
	Delete(ctx context.Context, key Key, options DeleteOptions) (Answer, error)
}

// CollectionDeleter deletes the objects that the options select, and returns them.
type CollectionDeleter interface {
	DeleteCollection(ctx context.Context, namespace string, options ListOptions, deletion DeleteOptions) (*List, error)
}

// Answer is an object for a client: a stored one, or one that was created for the answer.
type Answer interface {
	// Object returns the object in its version of the API, with its kind set. It is read-only,
	// because it shares memory with others.
	Object() (runtime.Object, error)
	// Encode returns its JSON.
	Encode() (conversion.Encoded, error)
	// Derived returns what derive makes of the object. That of a stored object is made once for each name and version of the
	// API: it must depend on nothing else.
	Derived(name string, derive func() ([]byte, error)) ([]byte, error)
	// Metadata appends the JSON of its metadata, nothing if it has none.
	Metadata(text []byte) ([]byte, error)
	// AddMessage adds the parts of its protobuf message, and returns the envelope of its kind. Other clients may need the
	// message too, unless it is forOne.
	AddMessage(parts *conversion.Parts, forOne bool) (envelope []byte, err error)
	// AddMetadata adds the parts of the protobuf message of its PartialObjectMetadata, none if it has no metadata.
	AddMetadata(parts *conversion.Parts) error
}

// Connecter connects a client with a process that is behind an object: with a web server or, if IsStream, by a stream of another protocol
// that the client upgrades its connection to.
type Connecter interface {
	IsStream() bool
	// ConnectOptions returns the options in the query of a URL, with their kind. Below is the rest of its path, "" for none.
	ConnectOptions(query url.Values, below string) (runtime.Object, error)
	// Connect returns where a request with such options goes.
	Connect(ctx context.Context, key Key, options runtime.Object) (*Location, error)
}

// ConnectMethods returns the methods of HTTP by which a client may ask.
func ConnectMethods(storage Connecter) []string {
	methods := []string{http.MethodGet, http.MethodPost} // a browser can begin a stream only by GET
	if !storage.IsStream() {
		methods = append(methods, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions)
	}
	return methods
}

// Location is where a request is sent on. It belongs to the caller. For a web server, the query is the client's.
type Location struct {
	URL       *url.URL
	Transport http.RoundTripper // speaks HTTP/1.1 only, which alone can be upgraded
}
