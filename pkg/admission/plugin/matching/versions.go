package matching

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
)

// Version is a version in which a webhook or a policy sees a change: that of the request, or an equivalent one.
type Version struct {
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
}

// View is a change in a version. Its objects have their kind. They are shared and must not be changed.
type View struct {
	Version
	Object, OldObject admission.Object // nil as in the attributes
}

// View returns a change in a version.
func (m *Matcher) View(in Version, a *admission.Attributes) (v View, err error) {
	v.Version = in
	if a.Object != nil {
		v.Object, err = m.convert(a.Object, a, a.Kind, in.Kind)
	}
	if err == nil && a.OldObject != nil {
		v.OldObject, err = m.convert(a.OldObject, a, a.Kind, in.Kind)
	}
	return v, err
}

// Replace replaces the object of the request by one of a view, with its defaults, so that the next one sees a whole object.
func (m *Matcher) Replace(object admission.Object, in Version, a *admission.Attributes) error {
	back, err := m.convert(object, a, in.Kind, a.Kind)
	if err != nil {
		return err
	}
	back.GetObjectKind().SetGroupVersionKind(a.Object.GetObjectKind().GroupVersionKind())
	if kind := m.Kind(a); kind != nil {
		if defaulter, ok := kind.Storage.(rest.Defaulter); ok {
			defaulter.Default(back)
		}
	}
	a.Object = back
	return nil
}

// Kind returns what is known of the kind of a change in all its versions, nil if its resource has just gone.
func (m *Matcher) Kind(a *admission.Attributes) *fieldmanager.Kind {
	if m.versions == nil {
		return nil
	}
	if of := m.versions()[named{a.Resource, a.Subresource}]; of != nil {
		return &of.kind
	}
	return nil
}

func (m *Matcher) convert(object admission.Object, a *admission.Attributes, from, to schema.GroupVersionKind) (admission.Object, error) {
	if object.GetObjectKind().GroupVersionKind() != from { // that of a task of the first door has none
		object = object.DeepCopyObject().(admission.Object)
		object.GetObjectKind().SetGroupVersionKind(from)
	}
	if from == to {
		return object, nil
	}
	kind := m.Kind(a)
	if kind == nil {
		return nil, fmt.Errorf("unable to convert to %v: unknown kind", to)
	}
	converted, err := kind.ConvertToVersion(object, to.GroupVersion())
	if err != nil {
		return nil, err
	}
	return converted.(admission.Object), nil
}

// named names a resource or a subresource.
type named struct {
	resource    schema.GroupVersionResource
	subresource string
}

// inVersions is a resource or a subresource, and the other versions of it.
type inVersions struct {
	kind   fieldmanager.Kind
	others []Version
}

type versions map[named]*inVersions

func newVersions(rows []*rest.Resource) versions {
	all, stored, same := versions{}, map[schema.GroupVersionResource]api.Kind{}, map[api.Kind][]schema.GroupVersionResource{}
	for _, row := range rows {
		name, sub, _ := strings.Cut(row.Name, "/")
		resource := row.GroupVersion.WithResource(name)
		all[named{resource, sub}] = &inVersions{kind: fieldmanager.Kind{Resource: *row}}
		if row.StoredKind != "" && sub == "" {
			stored[resource], same[row.StoredKind] = row.StoredKind, append(same[row.StoredKind], resource)
		}
	}
	for of, in := range all {
		for _, other := range same[stored[of.resource]] {
			if there := all[named{other, of.subresource}]; there != nil && other != of.resource {
				in.others = append(in.others, Version{other, there.kind.Kind})
			}
		}
	}
	return all
}
