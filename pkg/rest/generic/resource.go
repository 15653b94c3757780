// Package generic makes the rows of the catalog for kinds, with their stores, from what is special about each kind.
package generic

import (
	"reflect"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/schema"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
)

// Resource has the row and the rules of a kind. Whatever is not set is as for most kinds. It is read-only. Clients write the spec
// and the status of an object, if it has both, by different requests: the status by those of the subresource.
type Resource[T rest.Object] struct {
	Row rest.Resource

	// HasGeneration means that the generation of an object counts the changes of its spec.
	HasGeneration bool
	// Scale lets clients scale objects by the subresource. It may be nil.
	Scale Scaled[T]

	// Prepare completes PrepareForCreate and PrepareForUpdate of registry.Strategy. Old is nil for a new object.
	Prepare func(now, old T)
	// PrepareStatus is Prepare for updates of the status. StatusResets are the fields, besides the spec, that it resets.
	PrepareStatus func(now, old T)
	StatusResets  fieldmanager.Fields
	// StatusOnly means that updates of the status change no metadata.
	StatusOnly bool
	// Resets are the fields, besides the status, that Prepare resets.
	Resets fieldmanager.Fields
	// Default sets missing fields to their defaults.
	Default func(T)
	// Name is the rule for names; nil means DNS subdomains.
	Name apivalidation.ValidateNameFunc
	// Validate checks an object beyond its metadata and its schema. Old is nil for a new object. Mistakes that are in the
	// old object too are no errors.
	Validate func(c *check.Errors, now, old T)
	// ValidateStatus is Validate for updates of the status.
	ValidateStatus func(c *check.Errors, now, old T)

	// Warnings is that of registry.Strategy. Those who write the status get none.
	Warnings func(now, old T) []string

	// These are as in registry.Strategy and in registry.Store, also for the subresources.
	Fields                    func(T) fields.Set
	Dependents                registry.Dependents
	ForbidUnconditionalUpdate bool
	AllowCreateOnUpdate       bool
	AnswersDeleted            bool
	BriefPreconditions        bool
	Remove                    func(key api.Key, version uint64) []storage.Change
	Holds                     func(T) bool
	Mark                      func(T)
}

// Rows returns the rows of the kind and of its subresources.
func (r Resource[T]) Rows(b rest.Base) []rest.Resource {
	_, rows := r.Build(b)
	return rows
}

// Build returns the storage of the kind too, for subresources of its own.
func (r Resource[T]) Build(b rest.Base) (*registry.Store[T], []rest.Resource) {
	store := registry.NewStore(b, r.Row, r.strategy())
	store.AnswersDeleted, store.BriefPreconditions, store.Remove, store.Holds, store.Mark = r.AnswersDeleted, r.BriefPreconditions, r.Remove, r.Holds, r.Mark
	rows := []rest.Resource{r.Row.With(store)}
	if r.Scale != nil {
		rows = append(rows, registry.ScaleRow(r.Row, store, r.Scale.by()))
	}
	if r.has(status) {
		rows = append(rows, r.Row.Subresource("status", SubresourceOf(store, "status", r.statusStrategy())))
	}
	return store, rows
}

func (r Resource[T]) strategy() registry.Strategy[T] {
	var none T
	prepare := orNothing(r.Prepare)
	return registry.Strategy[T]{
		PrepareForCreate: func(object T) {
			if r.has(status) {
				part(object, status).SetZero()
			}
			if r.HasGeneration {
				object.SetGeneration(1)
			}
			prepare(object, none)
		},
		Default: r.Default,
		Validate: func(object T) field.ErrorList {
			return validation.Create(object, r.Row.Namespaced, r.Name, r.validateAll)
		},
		PrepareForUpdate: func(now, old T) {
			if r.has(status) {
				part(now, status).Set(part(old, status))
			}
			prepare(now, old)
			if r.HasGeneration && !check.Same(part(now, spec).Interface(), part(old, spec).Interface()) {
				now.SetGeneration(old.GetGeneration() + 1)
			}
		},
		ValidateUpdate:            func(now, old T) field.ErrorList { return validation.Update(now, old, r.validateAll) },
		Warnings:                  r.Warnings,
		AllowCreateOnUpdate:       r.AllowCreateOnUpdate,
		Resets:                    append(fieldmanager.Fields{"status"}, r.Resets...),
		Fields:                    r.Fields,
		Dependents:                r.Dependents,
		ForbidUnconditionalUpdate: r.ForbidUnconditionalUpdate,
	}
}

// validateAll checks by the rules of the kind, and then by those of its schema.
func (r Resource[T]) validateAll(c *check.Errors, now, old T) {
	if r.Validate != nil {
		r.Validate(c, now, old)
	}
	schema.Check(c, now, old)
}

func (r Resource[T]) validateAllStatus(c *check.Errors, now, old T) {
	if r.ValidateStatus != nil {
		r.ValidateStatus(c, now, old)
	}
	schema.CheckStatus(c, now)
}

func (r Resource[T]) statusStrategy() registry.Strategy[T] {
	resets := append(fieldmanager.Fields{"spec"}, r.StatusResets...)
	if r.StatusOnly {
		resets = append(resets, "metadata")
	}
	return registry.Strategy[T]{
		ForbidUnconditionalUpdate: r.ForbidUnconditionalUpdate,
		Default:                   r.Default,
		PrepareForUpdate: func(now, old T) {
			part(now, spec).Set(part(old, spec))
			if r.StatusOnly {
				metav1.ResetObjectMetaForStatus(now, old)
			}
			orNothing(r.PrepareStatus)(now, old)
		},
		ValidateUpdate: func(now, old T) field.ErrorList { return validation.Update(now, old, r.validateAllStatus) },
		Resets:         resets,
	}
}

// The parts of objects.
const spec, status = "Spec", "Status"

func part(object any, name string) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName(name)
}

func (r Resource[T]) has(part string) bool {
	_, has := reflect.TypeFor[T]().Elem().FieldByName(part)
	return has
}

func orNothing[T any](prepare func(now, old T)) func(now, old T) {
	if prepare == nil {
		return func(T, T) {}
	}
	return prepare
}

// Subresource is the storage of a subresource. It reads and updates the objects of a store, by a strategy of its own.
type Subresource struct {
	rest.Getter
	rest.Updater
	rest.Applier
	rest.Defaulter
}

// SubresourceOf returns the storage of a subresource, with a strategy.
func SubresourceOf[T rest.Object](store *registry.Store[T], subresource string, strategy registry.Strategy[T]) Subresource {
	own := store.Subresource(subresource, strategy)
	return Subresource{own, own, own, own}
}

// Scaled returns what the scale of an object shows: a pointer to the replicas of its spec, those of its status, and its
// selector in one line.
type Scaled[T rest.Object] func(T) (wanted **int32, current int32, selector string)

func (s Scaled[T]) by() registry.ScaledBy[T] {
	return registry.ScaledBy[T]{
		Get: func(object T) (int32, int32, string) {
			wanted, current, selector := s(object)
			if *wanted == nil {
				return 0, current, selector
			}
			return **wanted, current, selector
		},
		Set: func(object T, replicas int32) {
			wanted, _, _ := s(object)
			*wanted = &replicas
		},
	}
}
