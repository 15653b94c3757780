package plugin

import (
	"context"
	"encoding/json"
	"errors"

	"kube2014/pkg/admission"
)

type alwaysAdmit struct{}

// NewAlwaysAdmit creates a plugin that admits everything. It is an admission.Factory.
func NewAlwaysAdmit(configuration json.RawMessage) (admission.Interface, error) {
	return WithoutConfiguration(alwaysAdmit{}, configuration)
}

// Handles implements admission.Interface.
func (alwaysAdmit) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (alwaysAdmit) Admit(context.Context, *admission.Attributes) error { return nil }

// Validate implements admission.ValidationInterface.
func (alwaysAdmit) Validate(context.Context, *admission.Attributes) error { return nil }

type alwaysDeny struct{}

// NewAlwaysDeny creates a plugin that refuses every change. It is an admission.Factory.
func NewAlwaysDeny(configuration json.RawMessage) (admission.Interface, error) {
	return WithoutConfiguration(alwaysDeny{}, configuration)
}

// Handles implements admission.Interface.
func (alwaysDeny) Handles(admission.Operation) bool { return true }

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
