package generic

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/versions"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic/registry"
)

// RowsIn returns the rows that serve the objects of a stored kind in another version, by the same rules: errors name the
// fields of the stored version. T is a pointer to a struct.
func RowsIn[T interface {
	*Struct
	rest.Object
}, Struct any, Stored rest.Object](row rest.Resource, k Resource[Stored], b rest.Base) []rest.Resource {
	if cells := k.Row.Printer.Cells; cells != nil {
		row.Printer.Cells = func(object runtime.Object) []any {
			stored, err := versions.ToStored(object)
			utilruntime.Must(err)
			return cells(stored)
		}
	}
	store := registry.NewStore(b, row, inVersion[T](row.GroupVersion, k.strategy()))
	store.AnswersDeleted = k.AnswersDeleted
	rows := []rest.Resource{row.With(store)}
	if k.has(status) {
		rows = append(rows, row.Subresource("status", SubresourceOf(store, "status", inVersion[T](row.GroupVersion, k.statusStrategy()))))
	}
	return rows
}

// inVersion returns a strategy that works as another one does on the objects in their stored version.
func inVersion[T interface {
	*Struct
	rest.Object
}, Struct any, Stored rest.Object](version schema.GroupVersion, of registry.Strategy[Stored]) registry.Strategy[T] {
	of = of.Complete()
	stored := func(object T) Stored {
		converted, err := versions.ToStored(object)
		utilruntime.Must(err) // the conversions of decoded objects do not fail
		return converted.(Stored)
	}
	changed := func(object T, change func(Stored)) {
		inStored := stored(object)
		change(inStored)
		converted, err := versions.FromStored(any(inStored).(runtime.Object), version)
		utilruntime.Must(err)
		kind := object.GetObjectKind().GroupVersionKind()
		*object = *converted.(T)
		object.GetObjectKind().SetGroupVersionKind(kind)
	}
	own := registry.Strategy[T]{
		PrepareForCreate: func(object T) { changed(object, of.PrepareForCreate) },
		Default:          func(object T) { changed(object, of.Default) },
		Validate:         func(object T) field.ErrorList { return of.Validate(stored(object)) },
		Canonicalize:     func(object T) { changed(object, of.Canonicalize) },
		PrepareForUpdate: func(object, old T) {
			changed(object, func(now Stored) { of.PrepareForUpdate(now, stored(old)) })
		},
		ValidateUpdate:      func(object, old T) field.ErrorList { return of.ValidateUpdate(stored(object), stored(old)) },
		AllowCreateOnUpdate: of.AllowCreateOnUpdate,
		Resets:              of.Resets,
		Dependents:          of.Dependents,
	}
	if of.Fields != nil {
		own.Fields = func(object T) fields.Set { return of.Fields(stored(object)) }
	}
	return own
}
