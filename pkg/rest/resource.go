package rest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/printers"
)

// Resource is a row of the catalog: a kind as the API serves it, or a subresource of one. It is all that
// the server knows of the kind.
type Resource struct {
	GroupVersion schema.GroupVersion // where it is served
	Kind         schema.GroupVersionKind
	Name         string // "pods", or "pods/status" for a subresource
	Singular     string
	ShortNames   []string
	Categories   []string
	Namespaced   bool
	Stored       api.Kind        // what the store calls the kind; "" if this row stores nothing of its own
	Scheme       *runtime.Scheme // has the type of Kind; v1.Scheme if it is not set
	Storage      interface{}     // its verbs are those of the interfaces that it has
	Printer      printers.Printer
	Warning      string // in every answer, "" for none

	served context.Context // ends when the resource is removed from its catalog
	end    context.CancelFunc
}

// OnRemoval calls a function, in a goroutine of its own, when the resource is removed from its catalog. It
// does not if stop is called before.
func (r *Resource) OnRemoval(do func()) (stop func() bool) { return context.AfterFunc(r.served, do) }

func (r *Resource) path() schema.GroupVersionResource { return r.GroupVersion.WithResource(r.Name) }

// With returns the row with a storage.
func (r Resource) With(storage interface{}) Resource {
	r.Storage = storage
	return r
}

// Subresource returns the row of a part of the objects of this one. It shows them in the same columns.
func (r Resource) Subresource(name string, storage interface{}) Resource {
	return Resource{GroupVersion: r.GroupVersion, Kind: r.Kind, Name: r.Name + "/" + name, Namespaced: r.Namespaced, Scheme: r.Scheme, Storage: storage, Printer: r.Printer}
}

// GroupResource returns the group and the name.
func (r *Resource) GroupResource() schema.GroupResource {
	return r.path().GroupResource()
}

// Types returns the scheme that has the types of the kind.
func (r *Resource) Types() *runtime.Scheme { return cmp.Or(r.Scheme, v1.Scheme) }

// Verbs returns what can be done with the resource, sorted.
func (r *Resource) Verbs() (verbs []string) {
	if _, ok := r.Storage.(Creater); ok {
		verbs = append(verbs, "create")
	}
	if _, ok := r.Storage.(Deleter); ok {
		verbs = append(verbs, "delete")
	}
	if _, ok := r.Storage.(CollectionDeleter); ok {
		verbs = append(verbs, "deletecollection")
	}
	_, isText := r.Storage.(Streamer)
	if _, ok := r.Storage.(Getter); ok || isText {
		verbs = append(verbs, "get")
	}
	if _, ok := r.Storage.(Lister); ok {
		verbs = append(verbs, "list")
	}
	if _, ok := r.Storage.(Updater); ok {
		verbs = append(verbs, "patch", "update")
	}
	if _, ok := r.Storage.(Watcher); ok {
		verbs = append(verbs, "watch")
	}
	slices.Sort(verbs)
	return verbs
}

// APIResource returns the resource as discovery shows it.
func (r *Resource) APIResource() metav1.APIResource {
	resource := metav1.APIResource{Name: r.Name, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind.Kind,
		Verbs: r.Verbs(), ShortNames: r.ShortNames, Categories: r.Categories}
	if r.Kind.GroupVersion() != r.GroupVersion {
		resource.Group, resource.Version = r.Kind.Group, r.Kind.Version
	}
	if _, stored := r.Storage.(Lister); stored {
		resource.StorageVersionHash = r.storageVersionHash()
	}
	return resource
}

// storageVersionHash says in which version objects are stored: when it changes,
// they would be written anew.
func (r *Resource) storageVersionHash() string {
	sum := sha256.Sum256([]byte(r.Kind.Group + "/" + r.Kind.Version + "/" + r.Kind.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
