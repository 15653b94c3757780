package admission

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Request is the admission of one request. It is for one goroutine at a time.
type Request struct {
	Warn     func(text string)       // tells the client; may be nil
	Annotate func(key, value string) // tells the audit; may be nil

	ctx        context.Context
	chain      *Chain
	attributes Attributes
	operation  Operation

	reinvoked, again bool
	refused          bool // by the last Validate
	onEnd            []func(known bool)
	memory           map[any]any
}

// Mutate lets the plugins change an object that is to be stored, nil for a delete, and returns it.
// Old is what it replaces, nil for nothing: then the change is a create, whatever the request is.
func (r *Request) Mutate(object, old Object) (Object, error) {
	if r == nil || r.chain == nil {
		return object, nil
	}
	a := r.about(object, old)
	r.reinvoked, r.again = false, false
	if err := r.mutate(a); err != nil {
		return nil, err
	}
	if r.again {
		r.reinvoked = true
		if err := r.mutate(a); err != nil {
			return nil, err
		}
	}
	return a.Object, nil
}

func (r *Request) mutate(a *Attributes) error {
	for _, plugin := range r.chain.plugins {
		changes, ok := plugin.Interface.(MutationInterface)
		if !ok || !plugin.Handles(a.Operation) {
			continue
		}
		if err := r.chain.call(Call{plugin.name, Admit, a}, func() error { return changes.Admit(r.ctx, a) }); err != nil {
			return err
		}
	}
	return nil
}

// Validate lets the plugins check an object that is to be stored, nil for a delete. Old is as for
// Mutate. It may be called again for another name.
func (r *Request) Validate(object, old Object) error {
	if r == nil || r.chain == nil {
		return nil
	}
	err := r.validate(r.about(object, old))
	r.refused = err != nil
	return err
}

func (r *Request) validate(a *Attributes) error {
	for _, plugin := range r.chain.plugins {
		checks, ok := plugin.Interface.(ValidationInterface)
		if !ok || !plugin.Handles(a.Operation) {
			continue
		}
		if err := r.chain.call(Call{plugin.name, Validate, a}, func() error { return checks.Validate(r.ctx, a) }); err != nil {
			return err
		}
	}
	return nil
}

// End tells the plugins that the request has ended, with a nil error if the change was made. It is
// to be called once.
func (r *Request) End(outcome error) {
	if r == nil {
		return
	}
	var status apierrors.APIStatus
	known := outcome == nil || r.refused
	if errors.As(outcome, &status) {
		code := status.Status().Code
		known = known || (code >= http.StatusBadRequest && code < http.StatusInternalServerError)
	}
	for _, ended := range r.onEnd {
		ended(known)
	}
	r.onEnd = nil
}

// about returns the attributes of an object.
func (r *Request) about(object, old Object) *Attributes {
	a := &r.attributes
	a.Object, a.OldObject, a.Operation = object, old, r.operation
	if r.operation == Update && old == nil {
		a.Operation = Create
	}
	if object != nil && object.GetName() != "" { // else it is the request's
		a.Name = object.GetName()
	}
	return a
}
