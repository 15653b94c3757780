package v1

import (
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"kube2014/pkg/api"
)

// Versions converts the objects of a kind without a Go type between the version of a client and those in which they are
// stored.
type Versions interface {
	// FromStored converts an object, which has the version and the fields with which it was stored. It owns the object.
	FromStored(*unstructured.Unstructured) (*unstructured.Unstructured, error)
	// ToStored converts an object to the version in which objects are stored now. It does not change the object.
	ToStored(*unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// NewUnstructuredCodec returns the codec of a kind without a Go type. As in today's server, the items of a list name their
// kind.
func NewUnstructuredCodec(kind schema.GroupVersionKind, stored api.Kind, versions Versions) *Codec {
	before := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":`, kind.GroupVersion().String(), kind.Kind)
	return &Codec{Converter: withoutType{kind, stored, versions}, Kind: kind, Head: []byte("{"), BeforeMetadata: []byte(before), identity: &identity{}}
}

// withoutType implements Converter for a kind without a Go type: all but some of the metadata is remainder, with the
// version of the object.
type withoutType struct {
	kind     schema.GroupVersionKind
	stored   api.Kind
	versions Versions
}

func (c withoutType) New() runtime.Object {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": c.kind.GroupVersion().String(), "kind": c.kind.Kind}}
}

func (c withoutType) ToVersioned(object api.Object) (runtime.Object, error) {
	whole, out := object.(*api.Any), map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(whole.Remainder.Text(), &out); err != nil {
		return nil, fmt.Errorf("the remainder of %s %s: %w", whole.Kind, api.Quote(whole.ID), err)
	}
	metadata, ok := out["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		out["metadata"] = metadata
	}
	var known metav1.ObjectMeta
	outMeta(&known, whole)
	metadata["name"], metadata["uid"], metadata["creationTimestamp"] = known.Name, string(known.UID), known.CreationTimestamp.ToUnstructured()
	own := &unstructured.Unstructured{Object: out}
	own.SetNamespace(known.Namespace)
	own.SetResourceVersion(known.ResourceVersion)
	if len(whole.Labels) > 0 {
		own.SetLabels(whole.Labels)
	}
	if len(known.Annotations) > 0 {
		own.SetAnnotations(known.Annotations)
	}
	return c.versions.FromStored(own)
}

// inAny are the members of the metadata that are not in the remainder. The store sets the version.
var inAny = []string{"name", "namespace", "uid", "creationTimestamp", "labels", "annotations", "resourceVersion", "selfLink", "managedFields"}

func (c withoutType) ToInternal(object runtime.Object) (api.Object, error) {
	own := object.(*unstructured.Unstructured)
	stored, err := c.versions.ToStored(own)
	if err != nil {
		return nil, err
	}
	in := &api.Any{Kind: c.stored, ID: stored.GetName(), Labels: stored.GetLabels()}
	in.Namespace, in.UID, in.CreationTime, in.Annotations = stored.GetNamespace(), string(stored.GetUID()), stored.GetCreationTimestamp().Time, stored.GetAnnotations()
	in.ManagedFields = inManagedFields(own.GetManagedFields()) // a conversion may drop an empty list, which says that nobody is known
	members := maps.Clone(stored.Object)
	metadata := maps.Clone(members["metadata"].(map[string]any)) // GetName has read it
	for _, name := range inAny {
		delete(metadata, name)
	}
	if members["metadata"] = metadata; len(metadata) == 0 {
		delete(members, "metadata")
	}
	text, err := json.Marshal(members)
	in.Remainder = api.MakeRemainder(text)
	return in, err
}

// EncodeUnstructured returns the JSON of an object as an item: its kind and metadata first, then its members by name.
func (c *Codec) EncodeUnstructured(object *unstructured.Unstructured) ([]byte, error) {
	metadata, err := json.Marshal(object.Object["metadata"])
	if err != nil {
		return nil, err
	}
	members := maps.Clone(object.Object)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(members, name)
	}
	others, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	text := append(append(make([]byte, 0, len(c.BeforeMetadata)+len(metadata)+len(others)), c.BeforeMetadata...), metadata...)
	if len(members) > 0 {
		others[0] = ','
		return append(text, others...), nil
	}
	return append(text, '}'), nil
}
