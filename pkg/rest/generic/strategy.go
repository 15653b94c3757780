// Package generic stores the objects of any kind: a kind is a Strategy, and conversions to and
// from the internal objects.
package generic

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/rest"
)

// Strategy is what is particular to a kind, or to a subresource of it, when an object is
// created or updated. A function that is not set does nothing.
type Strategy[T rest.Object] struct {
	// PrepareForCreate drops what a client may not set, and sets what only the server
	// does.
	PrepareForCreate func(T)
	// Default sets the fields that are left out.
	Default func(T)
	// Validate returns all that is wrong with a new object.
	Validate func(T) field.ErrorList
	// Canonicalize brings a valid object into the form in which it is stored.
	Canonicalize func(T)
	// PrepareForUpdate is like PrepareForCreate for an object that is to replace another
	// one, which it does not change.
	PrepareForUpdate func(object, old T)
	// ValidateUpdate returns all that is wrong with such an object. It checks only what
	// differs.
	ValidateUpdate func(object, old T) field.ErrorList
	// AllowCreateOnUpdate is whether an update of an object that is not there creates it.
	AllowCreateOnUpdate bool
	// Fields are what field selectors can select by, besides the name and the namespace.
	Fields func(T) fields.Set
	// MachineField is the one of the Fields that is the machine of an api.Placed object, if there is
	// one: the store finds by it.
	MachineField string
}

// complete sets the functions that are called for each object and are not set.
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
	if s.PrepareForUpdate == nil {
		s.PrepareForUpdate = func(T, T) {}
	}
	if s.ValidateUpdate == nil {
		s.ValidateUpdate = func(T, T) field.ErrorList { return nil }
	}
	return s
}
