package admission

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Request is the admission of one request. It is for one goroutine at a time.
type Request struct {
	Warn     func(text string)       // sends a warning to the client; may be nil
	Annotate func(key, value string) // annotates the audit event; may be nil

	ctx        context.Context
	chain      *Chain
	attributes Attributes
	operation  Operation
	named      bool // the request names the object, otherwise the object does

	reinvoked, again bool
	refused          bool // by the last Validate
	onEnd            []func(known bool)
	memory           map[any]any
}

// Mutate calls the mutating plugins with the object to store, nil for a delete, and returns the
// result. Old is the stored object; if it is nil, the change is a create, whatever the request is.
func (r *Request) Mutate(object, old Object) (Object, error) {
	if r == nil || r.chain == nil {
		return object, nil
	}
	a := r.about(object, old)
	r.reinvoked, r.again = false, false
	err := callAll(r, Admit, a, MutationInterface.Admit)
	if err == nil && r.again {
		r.reinvoked = true
		err = callAll(r, Admit, a, MutationInterface.Admit)
	}
	if err != nil {
		return nil, err
	}
	return a.Object, nil
}

// callAll calls the plugins that implement an interface and handle the operation, until one returns an error.
func callAll[Plugin Interface](r *Request, step Step, a *Attributes, do func(Plugin, context.Context, *Attributes) error) error {
	for _, one := range r.chain.plugins {
		plugin, ok := one.Interface.(Plugin)
		if !ok || one.ignores(a) {
			continue
		}
		var err error
		if next := func() error { return do(plugin, r.ctx, a) }; r.chain.Around == nil {
			err = next()
		} else {
			err = r.chain.Around(Call{one.name, step, a}, next)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Validate calls the validating plugins with the object to store, nil for a delete. Old is as for
// Mutate. It may be called again for another name.
func (r *Request) Validate(object, old Object) error {
	if r == nil || r.chain == nil {
		return nil
	}
	err := callAll(r, Validate, r.about(object, old), ValidationInterface.Validate)
	r.refused = err != nil
	return err
}

// End calls the functions of OnEnd. The outcome is nil if the change was stored. End must be called
// once.
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
	if !r.named && object != nil {
		a.Name = object.GetName()
	}
	return a
}
