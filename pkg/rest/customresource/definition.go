// Package customresource serves the kinds of CustomResourceDefinitions: objects without a Go type, which a schema checks,
// completes and prunes. Today's server calls them custom resources.
package customresource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kversion "k8s.io/apimachinery/pkg/version"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// Definition serves the objects of a CustomResourceDefinition. It keeps the definition without its schemas, which are read
// when a version is first used. It is read-only, and safe for concurrent use.
type Definition struct {
	crd       *apiextensionsv1.CustomResourceDefinition
	read      func() (*apiextensionsv1.CustomResourceDefinition, error)
	base      rest.Base
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
func New(crd *apiextensionsv1.CustomResourceDefinition, read func() (*apiextensionsv1.CustomResourceDefinition, error), converter Converter, base rest.Base) *Definition {
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
		StoredKind: storedKind(d.crd), Printer: printer(v.of.AdditionalPrinterColumns), Schema: v.properties,
		Untyped: rest.Untyped{ListKind: names.ListKind, Version: d.stored(), Decode: v.decode, Type: v.typed(), From: v.as, In: d.in}}
	for _, other := range d.crd.Spec.Versions {
		row.Untyped.Versions = append(row.Untyped.Versions, schema.GroupVersion{Group: groupVersion.Group, Version: other.Name})
	}
	row.Untyped.Codec = v1.NewUnstructuredCodec(row.Kind, row.StoredKind, v)
	if c := d.crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
		row.Untyped.Codec.Converts, row.Untyped.Prepare = true, v.prepare
	}
	if v.of.Deprecated {
		row.Warning = d.deprecation(v.of)
	}
	return row
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
			scales := genericregistry.ScaleRow(v.row, store, v.scaledBy())
			scales.Warning = v.row.Warning
			rows = append(rows, scales)
		}
		if v.hasStatus() {
			status := v.row.Subresource("status", generic.SubresourceOf(store, "status", v.statusStrategy()))
			status.Warning = v.row.Warning
			rows = append(rows, status)
		}
	}
	return rows
}

// Objects returns a storage of the objects as they are stored, for their deletion.
func (d *Definition) Objects() *genericregistry.Store[own] {
	row := d.versions[0].row
	row.Untyped.Codec = v1.NewUnstructuredCodec(row.Kind, row.StoredKind, asStored{})
	return genericregistry.NewStore(d.base, row, genericregistry.Strategy[own]{})
}

func (v *version) store() *genericregistry.Store[own] {
	return genericregistry.NewStore(v.definition.base, v.row, v.strategy())
}

// storage returns the storage of a row. Objects of a definition that is being deleted cannot be created.
func (d *Definition) storage(store *genericregistry.Store[own]) any {
	if d.crd.DeletionTimestamp != nil {
		return terminating{store, d}
	}
	return store
}

// terminating is the storage of a definition that is being deleted.
type terminating struct {
	*genericregistry.Store[own]
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
