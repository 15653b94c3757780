package fieldmanager

import (
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/typed"
	"kube2014/pkg/rest"
)

// kind is what apimachinery asks of a kind, in all its versions. It is safe for concurrent use.
type kind struct{ rest.Resource }

// versions returns the versions of the kind whose fields managers may own.
func (k kind) versions() []schema.GroupVersion {
	return append([]schema.GroupVersion{k.Kind.GroupVersion()}, v1.OtherVersions(k.Kind, k.Types())...)
}

func (k kind) empty() rest.Object {
	object, err := k.New(k.Kind)
	utilruntime.Must(err) // it is the kind of the row
	return object.(rest.Object)
}

// New implements runtime.ObjectCreater.
func (k kind) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	var object runtime.Object = &unstructured.Unstructured{}
	if k.Untyped.Codec == nil {
		var err error
		if object, err = k.Types().New(kind); err != nil {
			return nil, err
		}
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object, nil
}

// Default implements runtime.ObjectDefaulter. The storage sets the defaults.
func (kind) Default(runtime.Object) {}

// ObjectToTyped implements managedfields.TypeConverter.
func (k kind) ObjectToTyped(object runtime.Object, options ...smd.ValidationOptions) (*smd.TypedValue, error) {
	own, isUnstructured := object.(*unstructured.Unstructured)
	of, err := k.typeOf(object.GetObjectKind().GroupVersionKind())
	switch {
	case err != nil:
		return nil, err
	case isUnstructured:
		return of.FromUnstructured(own.Object, options...)
	}
	return of.FromStructured(object, options...)
}

func (k kind) typeOf(kind schema.GroupVersionKind) (smd.ParseableType, error) {
	if k.Untyped.Codec != nil {
		row, err := k.in(kind.GroupVersion())
		if err != nil {
			return smd.ParseableType{}, err
		}
		return row.Untyped.Type()
	}
	object, err := k.Types().New(kind)
	if err != nil {
		return smd.ParseableType{}, err
	}
	return typed.Of(reflect.TypeOf(object).Elem()), nil
}

// TypedToObject implements managedfields.TypeConverter.
func (kind) TypedToObject(value *smd.TypedValue) (runtime.Object, error) {
	members, ok := value.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, errors.New("an object has members")
	}
	return &unstructured.Unstructured{Object: members}, nil
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (k kind) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	from, version := in.GetObjectKind().GroupVersionKind(), to.(schema.GroupVersion)
	if k.Untyped.Codec != nil {
		return k.convertUntyped(in, version)
	}
	if own, ok := in.(*unstructured.Unstructured); ok {
		object, err := k.New(from)
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(own.Object, object)
		}
		if err != nil {
			return nil, err
		}
		in = object
	}
	if from.GroupVersion() == version {
		return in, nil
	}
	in, err := v1.ToStored(in)
	if err == nil && version != v1.StoredAs(from, k.Types()).GroupVersion() {
		in, err = v1.FromStored(in, version)
	}
	if err != nil {
		return nil, runtime.NewNotRegisteredErrForKind(k.Types().Name(), version.WithKind(from.Kind))
	}
	in.GetObjectKind().SetGroupVersionKind(version.WithKind(from.Kind))
	return in, nil
}

func (k kind) convertUntyped(in runtime.Object, version schema.GroupVersion) (runtime.Object, error) {
	kind := in.GetObjectKind().GroupVersionKind()
	if kind.GroupVersion() == version {
		return in, nil
	}
	from, err := k.in(kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	to, err := k.in(version)
	if err != nil {
		return nil, err
	}
	stored, err := from.Untyped.Codec.In(in)
	if err != nil {
		return nil, err
	}
	return to.Untyped.Codec.Out(stored)
}

// in returns the row of another version of a kind without a Go type.
func (k kind) in(version schema.GroupVersion) (*rest.Resource, error) {
	if version.Group == k.Kind.Group {
		if row := k.Untyped.In(version.Version); row != nil {
			return row, nil
		}
	}
	return nil, runtime.NewNotRegisteredErrForKind("own kinds", version.WithKind(k.Kind.Kind))
}

// Convert implements runtime.ObjectConvertor. Nobody calls it.
func (kind) Convert(_, _, _ any) error { return errors.ErrUnsupported }

// ConvertFieldLabel implements runtime.ObjectConvertor. Nobody calls it.
func (kind) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errors.ErrUnsupported
}
