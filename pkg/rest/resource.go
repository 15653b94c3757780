package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/printers"
)

// Resource is a line of the table of resources: a kind as the API serves it, or a
// subresource of one.
type Resource struct {
	GroupVersion schema.GroupVersion // where it is served
	Kind         schema.GroupVersionKind
	Name         string // "pods", or "pods/status" for a subresource
	Singular     string
	ShortNames   []string
	Categories   []string
	Namespaced   bool
	Storage      interface{} // its verbs are those of the interfaces that it has
	Printer      printers.Printer
	Warning      string // told in every answer, "" for none
}

// Verbs returns what can be done with the resource, sorted.
func (r Resource) Verbs() (verbs []string) {
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
func (r Resource) APIResource() metav1.APIResource {
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

// storageVersionHash tells clients in which version objects are stored: when it changes,
// they would be written anew.
func (r Resource) storageVersionHash() string {
	sum := sha256.Sum256([]byte(r.Kind.Group + "/" + r.Kind.Version + "/" + r.Kind.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
