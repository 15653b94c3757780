package plugin

import (
	"context"
	"errors"

	"kube2014/pkg/admission"
)

type alwaysAdmit struct{ admission.Operations }

// NewAlwaysAdmit creates a plugin that admits everything.
var NewAlwaysAdmit = WithoutConfiguration(func() admission.Interface { return alwaysAdmit{admission.All} })

// Admit implements admission.MutationInterface.
func (alwaysAdmit) Admit(context.Context, *admission.Attributes) error { return nil }

// Validate implements admission.ValidationInterface.
func (alwaysAdmit) Validate(context.Context, *admission.Attributes) error { return nil }

type alwaysDeny struct{ admission.Operations }

// NewAlwaysDeny creates a plugin that refuses every change.
var NewAlwaysDeny = WithoutConfiguration(func() admission.Interface { return alwaysDeny{admission.All} })

// Admit implements admission.MutationInterface. It leaves the delete of one object to Validate, so that
// the client learns first if the object does not exist.
func (d alwaysDeny) Admit(ctx context.Context, a *admission.Attributes) error {
	if a.Operation == admission.Delete && a.Name != "" {
		return nil
	}
	return d.Validate(ctx, a)
}

// Validate implements admission.ValidationInterface.
func (alwaysDeny) Validate(_ context.Context, a *admission.Attributes) error {
	return admission.Forbidden(a, errors.New("admission control is denying all modifications"))
}
