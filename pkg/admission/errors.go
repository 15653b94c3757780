package admission

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Forbidden returns the error that refuses a change, in the words of today's server. Why must hold
// no secrets.
func Forbidden(a *Attributes, why error) error {
	name := a.Name
	if name == "" && a.Object != nil {
		if name = a.Object.GetName(); name == "" {
			name = a.Object.GetGenerateName()
		}
	}
	if name == "" {
		name = "Unknown" // a collection
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), name, why)
}
