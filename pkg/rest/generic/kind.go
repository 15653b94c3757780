// Package generic stores the objects of any kind, according to its Strategy and its conversions to
// and from the internal objects.
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
	"kube2014/pkg/storage"
)

// Strategy has the rules of a kind, or of a subresource, for creating and updating objects.
// A nil function does nothing.
type Strategy[T rest.Object] struct {
	// PrepareForCreate resets the fields that clients may not set, and sets those of the
	// server.
	PrepareForCreate func(T)
	// Default sets missing fields to their defaults.
	Default func(T)
	// Validate returns all errors of a new object.
	Validate func(T) field.ErrorList
	// Canonicalize converts a valid object to its stored form.
	Canonicalize func(T)
	// PrepareForUpdate is PrepareForCreate for an object that replaces an old one. It must not
	// change the old one.
	PrepareForUpdate func(object, old T)
	// ValidateUpdate returns all errors of such an object. It checks only changes.
	ValidateUpdate func(object, old T) field.ErrorList
	// Warnings returns warnings for the client who writes a valid object. Old is nil for a new one.
	Warnings func(object, old T) []string
	// AllowCreateOnUpdate lets an update of a missing object create it.
	AllowCreateOnUpdate bool
	// RequireVersion refuses an update that does not name the version that it replaces.
	ForbidUnconditionalUpdate bool
	// Resets are the fields that requests by the strategy do not change, such as "status" or "metadata.labels": they get no
	// manager. If Sets is not nil, they change only the fields in it, and Resets is ignored.
	Resets, Sets fieldmanager.Fields
	// Fields returns the fields for selectors, besides the name and the namespace.
	Fields func(T) fields.Set
	// Dependents says what happens to those that name a deleted object as their owner if the client does not say it.
	Dependents Dependents
	// MachineField names the one of the Fields that is the machine of an api.Placed object, "" for none.
	// The store has an index by machine.
	MachineField string
}

// Dependents is what happens to the dependents of a deleted object.
type Dependents string

// The zero value lets the garbage collector delete them in the background.
const (
	Orphaned Dependents = "orphaned"
	None     Dependents = "none" // the kind has no dependents
)

// complete replaces nil functions by ones that do nothing.
func (s Strategy[T]) complete() Strategy[T] {
	nothing := func(T) {}
	for _, function := range []*func(T){&s.PrepareForCreate, &s.Default, &s.Canonicalize} {
		if *function == nil {
			*function = nothing
		}
	}
	if s.Validate == nil {
		s.Validate = func(T) field.ErrorList { return nil }
	}
	if s.Warnings == nil {
		s.Warnings = func(T, T) []string { return nil }
	}
	if s.PrepareForUpdate == nil {
		s.PrepareForUpdate = func(T, T) {}
	}
	if s.ValidateUpdate == nil {
		s.ValidateUpdate = func(T, T) field.ErrorList { return nil }
	}
	return s
}

// Kind has the row and the rules of a kind. Whatever is not set is as for most kinds. It is read-only. Clients write the spec
// and the status of an object, if it has both, by different requests: the status by those of the subresource.
type Kind[T rest.Object] struct {
	Row rest.Resource

	// Counted means that the generation of an object counts the changes of its spec.
	Counted bool
	// Scale lets clients scale objects by the subresource. It may be nil.
	Scale Scaled[T]

	// Prepare completes Strategy.PrepareForCreate and Strategy.PrepareForUpdate. Old is nil for a new object.
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
	// Rules check an object beyond its metadata and its schema. Old is nil for a new object. Mistakes that are in the
	// old object too are no errors.
	Rules func(c *check.Errors, now, old T)
	// StatusRules are the rules for updates of the status.
	StatusRules func(c *check.Errors, now, old T)

	// Warnings is that of Strategy. Those who write the status get none.
	Warnings func(now, old T) []string

	// These are as in Strategy and in Store, also for the subresources.
	Fields              func(T) fields.Set
	Dependents          Dependents
	ForbidUnconditionalUpdate      bool
	AllowCreateOnUpdate bool
	AnswersDeleted      bool
	BriefPreconditions  bool
	Remove              func(key api.Key, version uint64) []storage.Change
	Holds               func(T) bool
	Mark                func(T)
}

// Rows returns the rows of the kind and of its subresources.
func (k Kind[T]) Rows(b Base) []rest.Resource {
	_, rows := k.Build(b)
	return rows
}

// Build returns the storage of the kind too, for subresources of its own.
func (k Kind[T]) Build(b Base) (*Store[T], []rest.Resource) {
	store := NewStore(b, k.Row, k.strategy())
	store.AnswersDeleted, store.BriefPreconditions, store.Remove, store.Holds, store.Mark = k.AnswersDeleted, k.BriefPreconditions, k.Remove, k.Holds, k.Mark
	rows := []rest.Resource{k.Row.With(store)}
	if k.Scale != nil {
		rows = append(rows, ScaleRow(k.Row, store, k.Scale.by()))
	}
	if k.has(status) {
		rows = append(rows, k.Row.Subresource("status", PartOf(store, "status", k.statusStrategy())))
	}
	return store, rows
}

func (k Kind[T]) strategy() Strategy[T] {
	var none T
	prepare := orNothing(k.Prepare)
	return Strategy[T]{
		PrepareForCreate: func(object T) {
			if k.has(status) {
				part(object, status).SetZero()
			}
			if k.Counted {
				object.SetGeneration(1)
			}
			prepare(object, none)
		},
		Default: k.Default,
		Validate: func(object T) field.ErrorList {
			return validation.Create(object, k.Row.Namespaced, k.Name, k.rules)
		},
		PrepareForUpdate: func(now, old T) {
			if k.has(status) {
				part(now, status).Set(part(old, status))
			}
			prepare(now, old)
			if k.Counted && !check.Same(part(now, spec).Interface(), part(old, spec).Interface()) {
				now.SetGeneration(old.GetGeneration() + 1)
			}
		},
		ValidateUpdate:      func(now, old T) field.ErrorList { return validation.Update(now, old, k.rules) },
		Warnings:            k.Warnings,
		AllowCreateOnUpdate: k.AllowCreateOnUpdate,
		Resets:              append(fieldmanager.Fields{"status"}, k.Resets...),
		Fields:              k.Fields,
		Dependents:          k.Dependents,
		ForbidUnconditionalUpdate:      k.ForbidUnconditionalUpdate,
	}
}

// rules are those of the kind, and then those of its schema.
func (k Kind[T]) rules(c *check.Errors, now, old T) {
	if k.Rules != nil {
		k.Rules(c, now, old)
	}
	schema.Check(c, now, old)
}

func (k Kind[T]) statusRules(c *check.Errors, now, old T) {
	if k.StatusRules != nil {
		k.StatusRules(c, now, old)
	}
	schema.CheckStatus(c, now)
}

func (k Kind[T]) statusStrategy() Strategy[T] {
	resets := append(fieldmanager.Fields{"spec"}, k.StatusResets...)
	if k.StatusOnly {
		resets = append(resets, "metadata")
	}
	return Strategy[T]{
		ForbidUnconditionalUpdate: k.ForbidUnconditionalUpdate,
		Default:        k.Default,
		PrepareForUpdate: func(now, old T) {
			part(now, spec).Set(part(old, spec))
			if k.StatusOnly {
				metav1.ResetObjectMetaForStatus(now, old)
			}
			orNothing(k.PrepareStatus)(now, old)
		},
		ValidateUpdate: func(now, old T) field.ErrorList { return validation.Update(now, old, k.statusRules) },
		Resets:         resets,
	}
}

// The parts of objects.
const spec, status = "Spec", "Status"

func part(object any, name string) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName(name)
}

func (k Kind[T]) has(part string) bool {
	_, has := reflect.TypeFor[T]().Elem().FieldByName(part)
	return has
}

func orNothing[T any](prepare func(now, old T)) func(now, old T) {
	if prepare == nil {
		return func(T, T) {}
	}
	return prepare
}

// Part is the storage of a subresource. It reads and updates the objects of a store, by a strategy of its own.
type Part struct {
	rest.Getter
	rest.Updater
	rest.Applier
	rest.Defaulter
}

// PartOf returns the part of a subresource, with a strategy.
func PartOf[T rest.Object](store *Store[T], subresource string, strategy Strategy[T]) Part {
	own := store.Part(subresource, strategy)
	return Part{own, own, own, own}
}
