// Package customresource serves the kinds of CustomResourceDefinitions: objects without a Go type, which a schema checks,
// completes and prunes. Today's server calls them custom resources.
package customresource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	kversion "k8s.io/apimachinery/pkg/version"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/typed"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

// Definition serves the objects of a CustomResourceDefinition. It keeps the definition without its schemas, which are read
// when a version is first used. It is read-only, and safe for concurrent use.
type Definition struct {
	crd       *apiextensionsv1.CustomResourceDefinition
	read      func() (*apiextensionsv1.CustomResourceDefinition, error)
	base      generic.Base
	converter Converter
	versions  []*version // the first one is preferred
}

// version is one version of a kind, served or not.
type version struct {
	definition *Definition
	of         *apiextensionsv1.CustomResourceDefinitionVersion // without the schema
	row        rest.Resource                                    // without a storage
	built      func() (*schemaOf, error)
}

// New returns the definition of a CustomResourceDefinition, whose names must have been accepted. It takes ownership of it.
// Read returns it again, with its schemas; the result is the caller's.
func New(crd *apiextensionsv1.CustomResourceDefinition, read func() (*apiextensionsv1.CustomResourceDefinition, error), converter Converter, base generic.Base) *Definition {
	d := &Definition{crd: crd, read: read, base: base, converter: converter}
	for i := range crd.Spec.Versions {
		of := &crd.Spec.Versions[i]
		of.Schema = nil
		v := &version{definition: d, of: of}
		v.built = sync.OnceValues(func() (*schemaOf, error) {
			whole, err := read()
			if err != nil {
				return nil, err
			}
			return newSchema(&whole.Spec.Versions[i])
		})
		v.row = d.rowOf(v)
		d.versions = append(d.versions, v)
	}
	slices.SortStableFunc(d.versions, func(a, b *version) int { return -kversion.CompareKubeAwareVersionStrings(a.of.Name, b.of.Name) })
	return d
}

// rowOf returns the row of a version.
func (d *Definition) rowOf(v *version) rest.Resource {
	names := &d.crd.Status.AcceptedNames
	groupVersion := schema.GroupVersion{Group: d.crd.Spec.Group, Version: v.of.Name}
	row := rest.Resource{GroupVersion: groupVersion, Kind: groupVersion.WithKind(names.Kind), Name: names.Plural, Singular: names.Singular,
		ShortNames: names.ShortNames, Categories: names.Categories, Namespaced: d.crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		Stored: storedKind(d.crd), Printer: printer(v.of.AdditionalPrinterColumns), Schema: v.properties,
		Untyped: rest.Untyped{ListKind: names.ListKind, Version: d.stored(), Decode: v.decode, Type: v.typed(), From: v.as, In: d.in}}
	for _, other := range d.crd.Spec.Versions {
		row.Untyped.Versions = append(row.Untyped.Versions, schema.GroupVersion{Group: groupVersion.Group, Version: other.Name})
	}
	row.Untyped.Codec = v1.NewUnstructuredCodec(row.Kind, row.Stored, v)
	if c := d.crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
		row.Untyped.Codec.Converts, row.Untyped.Prepare = true, v.prepare
	}
	if v.of.Deprecated {
		row.Warning = d.deprecation(v.of)
	}
	return row
}

// typed returns the type by which the objects of a version are compared and merged. It is made when it is first needed.
func (v *version) typed() func() (smd.ParseableType, error) {
	return sync.OnceValues(func() (smd.ParseableType, error) {
		properties, err := v.properties()
		if err != nil {
			return smd.ParseableType{}, err
		}
		return typed.OfSchema(properties)
	})
}

// in implements In of rest.Untyped.
func (d *Definition) in(version string) *rest.Resource {
	if v := d.version(version); v != nil {
		return &v.row
	}
	return nil
}

// storedKind returns the stored kind of the objects of a definition.
func storedKind(crd *apiextensionsv1.CustomResourceDefinition) api.Kind {
	return api.Kind(crd.Spec.Names.Plural + "." + crd.Spec.Group)
}

// stored returns the version in which objects are stored.
func (d *Definition) stored() string {
	i := slices.IndexFunc(d.crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	return d.crd.Spec.Versions[i].Name
}

// version returns a version, nil if there is none of this name.
func (d *Definition) version(name string) *version {
	i := slices.IndexFunc(d.versions, func(v *version) bool { return v.of.Name == name })
	if i < 0 {
		return nil
	}
	return d.versions[i]
}

// deprecation returns the warning of a deprecated version.
func (d *Definition) deprecation(of *apiextensionsv1.CustomResourceDefinitionVersion) string {
	if of.DeprecationWarning != nil {
		return *of.DeprecationWarning
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", d.crd.Spec.Group, of.Name, d.crd.Spec.Names.Kind)
	newest := ""
	for i := range d.crd.Spec.Versions {
		other := &d.crd.Spec.Versions[i]
		if other.Served && !other.Deprecated && kversion.CompareKubeAwareVersionStrings(other.Name, cmp.Or(newest, of.Name)) > 0 {
			newest = other.Name
		}
	}
	if newest == "" {
		return text
	}
	return fmt.Sprintf("%s; use %s/%s %s", text, d.crd.Spec.Group, newest, d.crd.Spec.Names.Kind)
}

// Rows returns the rows of the served versions and of their subresources.
func (d *Definition) Rows() (rows []rest.Resource) {
	for _, v := range d.versions {
		if !v.of.Served {
			continue
		}
		store := v.store()
		rows = append(rows, v.row.With(d.storage(store)))
		if v.scale() != nil {
			scales := generic.ScaleRow(v.row, store, v.scaledBy())
			scales.Warning = v.row.Warning
			rows = append(rows, scales)
		}
		if v.hasStatus() {
			status := v.row.Subresource("status", generic.PartOf(store, "status", v.statusStrategy()))
			status.Warning = v.row.Warning
			rows = append(rows, status)
		}
	}
	return rows
}

// Objects returns a storage of the objects as they are stored, for their deletion.
func (d *Definition) Objects() *generic.Store[own] {
	row := d.versions[0].row
	row.Untyped.Codec = v1.NewUnstructuredCodec(row.Kind, row.Stored, asStored{})
	return generic.NewStore(d.base, row, generic.Strategy[own]{})
}

func (v *version) store() *generic.Store[own] {
	return generic.NewStore(v.definition.base, v.row, v.strategy())
}

// storage returns the storage of a row. Objects of a definition that is being deleted cannot be created.
func (d *Definition) storage(store *generic.Store[own]) any {
	if d.crd.DeletionTimestamp != nil {
		return terminating{store, d}
	}
	return store
}

// terminating is the storage of a definition that is being deleted.
type terminating struct {
	*generic.Store[own]
	definition *Definition
}

// Create implements rest.Creater.
func (t terminating) Create(_ context.Context, _ rest.Key, object rest.Object, _ rest.WriteOptions) (rest.Answer, error) {
	return nil, Terminating(t.definition.versions[0].row.GroupResource(), object.GetName())
}

// Terminating returns the error for a new object of a definition that is being deleted.
func Terminating(resource schema.GroupResource, name string) error {
	return apierrors.NewForbidden(resource, name, errors.New("create not allowed while custom resource definition is terminating"))
}

func (v *version) hasStatus() bool {
	return v.of.Subresources != nil && v.of.Subresources.Status != nil
}

// scale returns the paths of the scale, nil if the objects have none.
func (v *version) scale() *apiextensionsv1.CustomResourceSubresourceScale {
	if v.of.Subresources == nil {
		return nil
	}
	return v.of.Subresources.Scale
}

func (v *version) scaledBy() generic.ScaledBy[own] {
	paths := v.scale()
	return generic.ScaledBy[own]{
		Paths: v.definition.replicas(),
		Get: func(object own) (wanted, current int32, selector string) {
			number := func(path string) int32 {
				value, _, _ := unstructured.NestedInt64(object.Object, membersOf(path)...) // of another type it is not valid
				return int32(value)
			}
			if path := paths.LabelSelectorPath; path != nil {
				selector, _, _ = unstructured.NestedString(object.Object, membersOf(*path)...)
			}
			return number(paths.SpecReplicasPath), number(paths.StatusReplicasPath), selector
		},
		Missing: func(object own) error {
			if _, found, err := unstructured.NestedInt64(object.Object, membersOf(paths.SpecReplicasPath)...); found && err == nil {
				return nil
			}
			return apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", paths.SpecReplicasPath))
		},
		Set: func(object own, wanted int32) {
			_ = unstructured.SetNestedField(object.Object, int64(wanted), membersOf(paths.SpecReplicasPath)...) // else it is not valid either
		},
	}
}

// replicas returns the paths of the replicas of all versions. That of a version without a scale is nil.
func (d *Definition) replicas() managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for _, v := range d.versions {
		paths[v.row.GroupVersion.String()] = nil
		if scale := v.scale(); scale != nil {
			var path fieldpath.Path
			for _, name := range membersOf(scale.SpecReplicasPath) {
				path = append(path, fieldpath.PathElement{FieldName: &name})
			}
			paths[v.row.GroupVersion.String()] = path
		}
	}
	return paths
}

// errUnserved is the error for a definition whose schema cannot be read. The checks for definitions should not have let it pass.
func errUnserved(err error) error {
	return fmt.Errorf("the server could not properly serve the CR schema: %w", err)
}

func (v *version) schema() (*schemaOf, error) {
	s, err := v.built()
	if err != nil {
		return nil, errUnserved(err)
	}
	return s, nil
}

func (v *version) rules() (*schemaOf, *rules, error) {
	s, err := v.schema()
	if err != nil {
		return nil, nil, err
	}
	rules, err := s.rules()
	if err != nil {
		return nil, nil, errUnserved(err)
	}
	return s, rules, nil
}

// decode implements Decode of rest.Untyped.
func (v *version) decode(text []byte, into *unstructured.Unstructured) (unknown []error, err error) {
	s, err := v.schema()
	if err != nil {
		return nil, err
	}
	var members map[string]any
	if unknown, err = kjson.UnmarshalStrict(text, &members); err != nil {
		return nil, err
	}
	into.Object = members
	paths, err := s.coerce(into, coercion{track: true})
	for _, path := range paths {
		unknown = append(unknown, fmt.Errorf("unknown field %q", path))
	}
	return unknown, err
}

// selectableFields returns the fields that lists select by, as OpenAPI says it.
func selectableFields(fields []apiextensionsv1.SelectableField) (said []any) {
	for _, f := range fields {
		said = append(said, map[string]any{"fieldPath": strings.TrimPrefix(f.JSONPath, ".")})
	}
	return said
}

// properties implements Schema of rest.Resource.
func (v *version) properties() (map[string]any, error) {
	whole, err := v.definition.read()
	if err != nil {
		return nil, err
	}
	for _, of := range whole.Spec.Versions {
		if of.Name == v.of.Name && of.Schema != nil && of.Schema.OpenAPIV3Schema != nil {
			properties, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of.Schema.OpenAPIV3Schema)
			if err == nil && len(of.SelectableFields) > 0 {
				properties["x-kubernetes-selectable-fields"] = selectableFields(of.SelectableFields)
			}
			return properties, err
		}
	}
	return nil, nil
}
