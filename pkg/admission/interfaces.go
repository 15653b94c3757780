package admission

import (
	"cmp"
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Interface is a plugin. It is also a MutationInterface, a ValidationInterface, or both. Its methods
// are called concurrently. Their errors are *errors.StatusError of apimachinery, such as those of
// Forbidden; any other error is an internal one.
type Interface interface {
	// Handles reports whether the plugin is called for an operation.
	Handles(operation Operation) bool
}

// MutationInterface may change the object to store. Defaults are set, and the object is validated,
// afterwards.
type MutationInterface interface {
	Interface
	// Admit returns an error to refuse a change.
	Admit(ctx context.Context, a *Attributes) error
}

// ValidationInterface checks the object to store, which is complete and valid.
type ValidationInterface interface {
	Interface
	// Validate returns an error to refuse a change.
	Validate(ctx context.Context, a *Attributes) error
}

// SkipsNamespaces is an optional interface of a plugin that decides by what is stored.
type SkipsNamespaces interface {
	// Idle reports whether there is nothing to decide about changes in a namespace. It is quick.
	Idle(namespace string) bool
}

// SelectsResources is an optional interface of a plugin that decides about few resources. It is not called for others, nor
// counted in metrics, so that a table of many plugins costs little.
type SelectsResources interface {
	// Selects reports whether the plugin decides about changes of a resource, or of a subresource of it. It is quick.
	Selects(resource schema.GroupResource, subresource string) bool
}

// Forbidden returns the error that refuses a change, in the words of today's server. Why must contain
// no secrets.
func Forbidden(a *Attributes, why error) error {
	return apierrors.NewForbidden(a.Resource.GroupResource(), NameOf(a), why)
}

// NameOf returns the name of the object of a change for errors.
func NameOf(a *Attributes) string {
	name := a.Name
	if name == "" && a.Object != nil {
		name = cmp.Or(a.Object.GetName(), a.Object.GetGenerateName())
	}
	return cmp.Or(name, "Unknown") // a collection has no name
}
