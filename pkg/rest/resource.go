package rest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/versions"
	"kube2014/pkg/printers"
	"kube2014/pkg/storage"
)

// Base has the dependencies that the stores of a table share.
type Base struct {
	Objects storage.Interface
	Now     func() time.Time
	// IgnoreDependents lets deleted objects go at once, for servers without a garbage collector.
	IgnoreDependents bool
}

// Resource is a row of the catalog: a kind as the API serves it, or a subresource of one. It is all that
// the server knows about the kind.
type Resource struct {
	GroupVersion schema.GroupVersion // where it is served
	Kind         schema.GroupVersionKind
	Name         string // "pods", or "pods/status" for a subresource
	Singular     string
	ShortNames   []string
	Categories   []string
	Namespaced   bool
	StoredKind   api.Kind        // the kind in the store; "" if this row stores no objects of its own
	Scheme       *runtime.Scheme // has the type of Kind; nil means v1.Scheme
	Storage      interface{}     // its interfaces are the verbs of the resource
	Printer      printers.Printer
	Warning      string // in every answer, "" for none
	Untyped      Untyped
	Recursive    bool // the type of Kind contains itself: an object that is nested too deeply is refused
	// Schema returns the schema of a kind without a Go type: as in OpenAPI 3.0, read-only, without the fields that all
	// objects have, with x-kubernetes-selectable-fields. It is nil for the other kinds, and returns nil if objects may have
	// any fields.
	Schema func() (map[string]any, error)

	served context.Context // ends when the resource is removed from its catalog
	end    context.CancelFunc
}

// Untyped is what the row of a kind without a Go type has. It is zero for all others. Its objects are Unstructured.
type Untyped struct {
	Codec    *v1.Codec
	ListKind string
	Version  string // in which objects are stored now
	// Prepare encodes objects together, as a webhook converts them. It is nil if each is encoded when it is needed.
	Prepare func(ctx context.Context, objects []*storage.Object) error
	// Decode decodes the JSON of an object of the group and version of the row, and returns its unknown and duplicate
	// fields.
	Decode func(text []byte, into *unstructured.Unstructured) (unknown []error, err error)
	// Type returns the type by which objects are compared and merged.
	Type func() (typed.ParseableType, error)
	// From converts an object of another version to that of the row. It does not change the object.
	From     func(*unstructured.Unstructured) (*unstructured.Unstructured, error)
	Versions []schema.GroupVersion // all of the kind
	// In returns the row of the kind in another version, nil if there is none.
	In func(version string) *Resource
}

// InNamespaces returns the row of a kind whose objects are in namespaces. They are stored under the name of the resource.
func InNamespaces(version schema.GroupVersion, kind, name string, printer printers.Printer, shortNames ...string) Resource {
	row := ClusterScoped(version, kind, name, printer, shortNames...)
	row.Namespaced = true
	return row
}

// ClusterScoped is InNamespaces for a kind whose objects are in none.
func ClusterScoped(version schema.GroupVersion, kind, name string, printer printers.Printer, shortNames ...string) Resource {
	return Resource{GroupVersion: version, Kind: version.WithKind(kind), Name: name, Singular: strings.ToLower(kind), StoredKind: api.Kind(name),
		Printer: printer, ShortNames: shortNames}
}

// In returns the row with categories.
func (r Resource) In(categories ...string) Resource {
	r.Categories = categories
	return r
}

// OnRemoval calls do, in its own goroutine, when the resource is removed from its catalog, unless stop is
// called before.
func (r *Resource) OnRemoval(do func()) (stop func() bool) { return context.AfterFunc(r.served, do) }

// Removed reports whether the resource has been removed from its catalog.
func (r *Resource) Removed() bool { return r.served.Err() != nil }

func (r *Resource) path() schema.GroupVersionResource { return r.GroupVersion.WithResource(r.Name) }

// With returns the row with a storage.
func (r Resource) With(storage interface{}) Resource {
	r.Storage = storage
	return r
}

// Subresource returns the row of a subresource, which is printed in the same columns.
func (r Resource) Subresource(name string, storage interface{}) Resource {
	return Resource{GroupVersion: r.GroupVersion, Kind: r.Kind, Name: r.Name + "/" + name, Namespaced: r.Namespaced, Scheme: r.Scheme, Storage: storage, Printer: r.Printer,
		Untyped: r.Untyped, Recursive: r.Recursive}
}

// GroupResource returns the group and the name.
func (r *Resource) GroupResource() schema.GroupResource {
	return r.path().GroupResource()
}

// HasTable reports whether an answer can be a table: not that of a review, an eviction, and others that only are posted.
func (r *Resource) HasTable() bool {
	_, isListed := r.Storage.(Lister)
	return isListed || strings.HasSuffix(r.Name, "/status") || strings.HasSuffix(r.Name, "/scale")
}

// Codec returns a codec of the stored objects.
func (r *Resource) Codec() *v1.Codec {
	if r.Untyped.Codec != nil {
		return r.Untyped.Codec
	}
	return v1.NewCodec(r.Kind, r.StoredKind, r.Types())
}

// Types returns the scheme that has the types of the kind.
func (r *Resource) Types() *runtime.Scheme { return cmp.Or(r.Scheme, v1.Scheme) }

// Verbs returns the verbs of the resource, sorted.
func (r *Resource) Verbs() (verbs []string) {
	connects := func(method string) bool {
		storage, ok := r.Storage.(Connecter)
		return ok && slices.Contains(ConnectMethods(storage), method)
	}
	for _, verb := range []struct {
		supported bool
		name      string
	}{
		{is[Creater](r) || connects(http.MethodPost), "create"},
		{is[Deleter](r) || connects(http.MethodDelete), "delete"},
		{is[CollectionDeleter](r), "deletecollection"},
		{is[Getter](r) || is[Streamer](r) || connects(http.MethodGet), "get"},
		{is[Lister](r), "list"},
		{is[Getter](r) && is[Updater](r) || connects(http.MethodPatch), "patch"},
		{is[Updater](r) || connects(http.MethodPut), "update"},
		{is[Watcher](r), "watch"},
	} {
		if verb.supported {
			verbs = append(verbs, verb.name)
		}
	}
	return verbs
}

// is reports whether the storage of a resource implements a verb.
func is[Verb any](r *Resource) bool {
	_, ok := r.Storage.(Verb)
	return ok
}

// APIResource returns the resource as discovery shows it.
func (r *Resource) APIResource() metav1.APIResource {
	resource := metav1.APIResource{Name: r.Name, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind.Kind,
		Verbs: r.Verbs(), ShortNames: r.ShortNames, Categories: r.Categories}
	if r.Kind.GroupVersion() != r.GroupVersion {
		resource.Group, resource.Version = r.Kind.Group, r.Kind.Version
	}
	if r.Untyped.Codec != nil { // today's server lists them in another order
		slices.SortStableFunc(resource.Verbs, func(a, b string) int { return cmp.Compare(ownVerbs[a], ownVerbs[b]) })
	}
	if r.StoredKind != "" {
		resource.StorageVersionHash = r.storageVersionHash()
	}
	return resource
}

// ownVerbs are the verbs that come later in the documents of kinds without a Go type.
var ownVerbs = map[string]int{"create": 1, "update": 2, "watch": 3}

// APIResources returns resources as discovery shows them, with their groups and versions.
func APIResources(rows []*Resource) (resources []metav1.APIResource) {
	for _, row := range rows {
		resource := row.APIResource()
		if resource.Version == "" {
			resource.Group, resource.Version = row.GroupVersion.Group, row.GroupVersion.Version
		}
		resources = append(resources, resource)
	}
	return resources
}

// Deletable returns the resources whose objects a client can list and delete: one for each kind in the store.
func Deletable(rows []*Resource) (resources []metav1.APIResource) {
	for row := range firstOfEachKind(slices.Values(rows)) {
		if is[Deleter](row) && is[Lister](row) {
			resource := row.APIResource()
			resource.Group, resource.Version = row.GroupVersion.Group, row.GroupVersion.Version
			resources = append(resources, resource)
		}
	}
	return resources
}

// storageVersionHash identifies the version in which objects are stored: when it
// changes, they must be rewritten.
func (r *Resource) storageVersionHash() string {
	stored := versions.StoredAs(r.Kind, r.Types())
	if r.Untyped.Codec != nil {
		stored.Version = r.Untyped.Version
	}
	sum := sha256.Sum256([]byte(stored.Group + "/" + stored.Version + "/" + stored.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
