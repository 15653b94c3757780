package customresource

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/storage"
)

// Converter converts objects to another version of their group, in the same order. It does not change the given ones; those
// that have the version are returned as they are.
type Converter interface {
	Convert(ctx context.Context, objects []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error)
}

// Broken returns a converter that always fails.
func Broken(err error) Converter { return broken{err} }

type broken struct{ err error }

func (b broken) Convert(context.Context, []*unstructured.Unstructured, schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	return nil, b.err
}

// FromStored implements v1.Versions.
func (v *version) FromStored(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := v.definition.complete(object); err != nil {
		return nil, err
	}
	return v.from(object)
}

// complete drops what the schema of a stored object does not know, and sets its defaults.
func (d *Definition) complete(object *unstructured.Unstructured) error {
	stored := d.version(object.GroupVersionKind().Version)
	if stored == nil {
		return fmt.Errorf("request to convert CR from an invalid group/version: %s", object.GetAPIVersion())
	}
	s, err := stored.schema()
	if err != nil {
		return err
	}
	if _, err := s.coerce(object, coercion{drop: true}); err != nil {
		return err
	}
	defaulting.Default(object.Object, s.structural)
	return nil
}

// ToStored implements v1.Versions.
func (v *version) ToStored(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return v.definition.version(v.definition.stored()).from(object)
}

// from returns an object in the version. It does not change the given one, which may have it already.
func (v *version) from(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return one(object, v.convert)
}

// as is from without a look at the schema of the version, as today's server converts to find who owns which field.
func (v *version) as(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return one(object, v.converted)
}

func one(object *unstructured.Unstructured, by func(context.Context, []*unstructured.Unstructured) ([]*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	converted, err := by(context.Background(), []*unstructured.Unstructured{object})
	if err != nil {
		return nil, err
	}
	return converted[0], nil
}

// converted returns objects in the version, which may be their own.
func (v *version) converted(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if !slices.ContainsFunc(objects, v.isOther) {
		return objects, nil
	}
	converted, err := v.definition.converter.Convert(ctx, objects, v.row.GroupVersion)
	if err != nil { // today's server shows the words of a webhook, without a reason
		err = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}}
	}
	return converted, err
}

// convert is converted, and drops what the schema of the version does not know.
func (v *version) convert(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	converted, err := v.converted(ctx, objects)
	if err != nil {
		return nil, err
	}
	for i, object := range converted {
		if !v.isOther(objects[i]) {
			continue
		}
		s, err := v.schema()
		if err != nil {
			return nil, err
		}
		if _, err := s.coerce(object, coercion{}); err != nil {
			return nil, err
		}
	}
	return converted, nil
}

// isOther reports whether an object has another version.
func (v *version) isOther(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().Version != v.of.Name
}

// maxConverted bounds the objects that are converted by one call of a webhook.
const maxConverted = 500

// prepare implements Prepare of rest.Untyped.
func (v *version) prepare(ctx context.Context, objects []*storage.Object) error {
	codec := v.row.Untyped.Codec
	raw := v1.NewUnstructuredCodec(v.row.Kind, v.row.StoredKind, asStored{})
	for chunk := range slices.Chunk(slices.DeleteFunc(slices.Clone(objects), func(o *storage.Object) bool { return o.HasItem(codec) }), maxConverted) {
		var all []*unstructured.Unstructured
		for _, object := range chunk {
			out, err := raw.ToVersioned(object.Object)
			if err != nil {
				return err
			}
			all = append(all, out.(*unstructured.Unstructured))
			if err := v.definition.complete(all[len(all)-1]); err != nil {
				return err
			}
		}
		converted, err := v.convert(ctx, all)
		if err != nil {
			return err
		}
		for i, object := range converted {
			item, err := codec.EncodeUnstructured(object)
			if err != nil {
				return err
			}
			chunk[i].SetItem(codec, item)
		}
	}
	return nil
}

// asStored implements v1.Versions. It converts nothing: a webhook may be away.
type asStored struct{}

func (asStored) FromStored(object own) (own, error) { return object, nil }
func (asStored) ToStored(object own) (own, error)   { return object, nil }
