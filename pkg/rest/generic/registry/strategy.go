package registry

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
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
	// ForbidUnconditionalUpdate refuses an update that does not name the version that it replaces.
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

// Complete replaces nil functions by ones that do nothing.
func (s Strategy[T]) Complete() Strategy[T] {
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
