package rest

import (
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
)

// ListOptions are what a list asks for.
type ListOptions struct {
	Labels          labels.Selector
	Fields          fields.Selector
	Limit           int64
	Continue        string
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
}

// OnlyFields returns an error if a list selects by a field that is not known.
func (o ListOptions) OnlyFields(known fields.Set) error {
	for _, requirement := range o.Fields.Requirements() {
		if !known.Has(requirement.Field) {
			return apierrors.NewBadRequest("field label not supported: " + requirement.Field)
		}
	}
	return nil
}

// OnlyName returns an error if a list selects by more than the name and the namespace.
func (o ListOptions) OnlyName() error {
	for _, requirement := range o.Fields.Requirements() {
		if _, _, err := k8sruntime.DefaultMetaV1FieldSelectorConversion(requirement.Field, requirement.Value); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return nil
}

// Matches reports whether an object is selected that is not in a store. The fields are
// those besides its name and namespace.
func (o ListOptions) Matches(object metav1.Object, more fields.Set) bool {
	set := fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
	maps.Copy(set, more)
	return o.Labels.Matches(labels.Set(object.GetLabels())) && o.Fields.Matches(set)
}

// WatchOptions are what a watch asks for. Limit, Continue and Match mean nothing.
type WatchOptions struct {
	ListOptions
	// Initial is whether the present objects come first, as if they were added then. They
	// are of the ResourceVersion or a later one. Else a watch begins after that version,
	// and now if there is none. A nil Initial is true if the version is 0 or none.
	Initial *bool
}

// begin returns the version that a watch asks for, 0 for none, and whether the present objects
// come first.
func (o WatchOptions) begin() (version uint64, initial bool, err error) {
	if o.ResourceVersion != "" {
		version, err = ParseVersion(o.ResourceVersion)
	}
	if o.Initial != nil {
		return version, *o.Initial, err
	}
	return version, version == 0, err
}
