package admission

import "context"

// Interface is a plugin. It is also a MutationInterface, a ValidationInterface, or both. Its
// methods are called concurrently.
type Interface interface {
	// Handles reports whether the plugin wants to know of an operation.
	Handles(operation Operation) bool
}

// MutationInterface may change what is to be stored. What it leaves out gets its default value,
// and is checked, afterwards.
type MutationInterface interface {
	Interface
	// Admit returns an error to refuse a change.
	Admit(ctx context.Context, a *Attributes) error
}

// ValidationInterface checks what is to be stored, complete and valid.
type ValidationInterface interface {
	Interface
	// Validate returns an error to refuse a change.
	Validate(ctx context.Context, a *Attributes) error
}

// The error of a plugin is a *errors.StatusError of apimachinery, such as Forbidden makes; any
// other error is an internal one.
