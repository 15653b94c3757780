package fieldmanager

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kube2014/pkg/api/v1/typed"
	"kube2014/pkg/api/v1/versions"
	"kube2014/pkg/rest"
)

// Kind is what apimachinery asks of a kind, in all its versions. It is safe for concurrent use.
type Kind struct{ rest.Resource }

// versions returns the versions of the kind in which requests reset fields: as in today's server, of a kind without a Go type that
// are the other ones only for a subresource.
func (k Kind) versions(subresource string) []schema.GroupVersion {
	if k.Untyped.Codec != nil && subresource != "" {
		return k.Untyped.Versions
	}
	return append([]schema.GroupVersion{k.Kind.GroupVersion()}, versions.Others(k.Kind, k.Types())...)
}

func (k Kind) empty() rest.Object {
	object, err := k.New(k.Kind)
	utilruntime.Must(err) // it is the kind of the row
	return object.(rest.Object)
}

// New implements runtime.ObjectCreater.
func (k Kind) New(kind schema.GroupVersionKind) (runtime.Object, error) {
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
func (Kind) Default(runtime.Object) {}

// ObjectToTyped implements managedfields.TypeConverter. An object with a Go type has no fields that its type does not have.
func (k Kind) ObjectToTyped(object runtime.Object, options ...smd.ValidationOptions) (*smd.TypedValue, error) {
	of, err := k.typeOf(object.GetObjectKind().GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if own, ok := object.(*unstructured.Unstructured); ok {
		return of.FromUnstructured(own.Object, options...)
	}
	members, err := value.NewValueReflect(object)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 to validate what its Go type ensures takes a quarter of an update
	return smd.AsTypedUnvalidated(members, of.Schema, of.TypeRef), nil
}

func (k Kind) typeOf(kind schema.GroupVersionKind) (smd.ParseableType, error) {
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
func (Kind) TypedToObject(of *smd.TypedValue) (runtime.Object, error) {
	members := of.AsValue()
	if !members.IsMap() {
		return nil, errors.New("an object has members")
	}
	return &unconverted{members: members}, nil
}

// unconverted is an object whose members are converted when they are needed: most often only its kind is.
type unconverted struct {
	metav1.TypeMeta
	members value.Value
}

// GetObjectKind implements runtime.Object.
func (u *unconverted) GetObjectKind() schema.ObjectKind {
	all := u.members.AsMap()
	for name, to := range map[string]*string{"apiVersion": &u.APIVersion, "kind": &u.Kind} {
		if text, ok := all.Get(name); ok && text.IsString() {
			*to = text.AsString()
		}
	}
	return &u.TypeMeta
}

// DeepCopyObject implements runtime.Object. It shares the members, which are read-only.
func (u *unconverted) DeepCopyObject() runtime.Object { return &unconverted{members: u.members} }

// ConvertToVersion implements runtime.ObjectConvertor.
func (k Kind) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	from, version := in.GetObjectKind().GroupVersionKind(), to.(schema.GroupVersion)
	if members, ok := in.(*unconverted); ok {
		in = &unstructured.Unstructured{Object: members.members.Unstructured().(map[string]any)}
	}
	if k.Untyped.Codec != nil {
		if from.GroupVersion() == version {
			return in, nil
		}
		to, err := k.in(version)
		if err != nil {
			return nil, err
		}
		return to.Untyped.From(in.(*unstructured.Unstructured))
	}
	if own, ok := in.(*unstructured.Unstructured); ok {
		object, err := k.New(from)
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(own.Object, object)
		}
		if err != nil {
			return nil, fmt.Errorf("unable to convert unstructured object to %v: %w", from, err)
		}
		in = object
	}
	if from.GroupVersion() == version {
		return in, nil
	}
	in, err := versions.ToStored(in)
	if err == nil && version != versions.StoredAs(from, k.Types()).GroupVersion() {
		in, err = versions.FromStored(in, version)
	}
	if err != nil {
		return nil, runtime.NewNotRegisteredErrForKind(k.Types().Name(), version.WithKind(from.Kind))
	}
	in.GetObjectKind().SetGroupVersionKind(version.WithKind(from.Kind))
	return in, nil
}

// in returns the row of another version of a kind without a Go type. As in today's server, the managed fields of an object are lost
// if an entry has a version that there is not; of other kinds only that entry is.
func (k Kind) in(version schema.GroupVersion) (*rest.Resource, error) {
	if version.Group == k.Kind.Group {
		if row := k.Untyped.In(version.Version); row != nil {
			return row, nil
		}
	}
	return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", version)
}

// Convert implements runtime.ObjectConvertor. Nobody calls it.
func (Kind) Convert(_, _, _ any) error { return errors.ErrUnsupported }

// ConvertFieldLabel implements runtime.ObjectConvertor. Nobody calls it.
func (Kind) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errors.ErrUnsupported
}

// Fields selects fields by their paths, such as "metadata.labels": those below a path are of it. "*" is any element.
type Fields []string

func (f Fields) set() *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range f {
		set.Insert(fieldpath.MakePathOrDie(elements(path)...))
	}
	return set
}

func (f Fields) filter() fieldpath.Filter {
	var matchers []*fieldpath.SetMatcher
	for _, path := range f {
		matchers = append(matchers, fieldpath.MakePrefixMatcherOrDie(elements(path)...))
	}
	return fieldpath.NewIncludeMatcherFilter(matchers...)
}

func elements(path string) (elements []any) {
	for name := range strings.SplitSeq(path, ".") {
		if name == "*" {
			elements = append(elements, fieldpath.MatchAnyPathElement())
		} else {
			elements = append(elements, name)
		}
	}
	return elements
}
