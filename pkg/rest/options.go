package rest

import (
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
)

// ListOptions are the options of a list.
type ListOptions struct {
	Labels          labels.Selector
	Fields          fields.Selector
	Limit           int64
	Continue        string
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
}

// OnlyFields returns an error if the field selector has a field that is not in known.
func (o ListOptions) OnlyFields(known fields.Set) error {
	for _, requirement := range o.Fields.Requirements() {
		if !known.Has(requirement.Field) {
			return apierrors.NewBadRequest("field label not supported: " + requirement.Field)
		}
	}
	return nil
}

// OnlyName returns an error if the field selector has a field besides the name and the namespace.
func (o ListOptions) OnlyName() error {
	for _, requirement := range o.Fields.Requirements() {
		if _, _, err := k8sruntime.DefaultMetaV1FieldSelectorConversion(requirement.Field, requirement.Value); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return nil
}

// Matches reports whether the options select an object that is not in a store. more are its
// fields besides the name and namespace.
func (o ListOptions) Matches(object metav1.Object, more fields.Set) bool {
	set := fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
	maps.Copy(set, more)
	return o.Labels.Matches(labels.Set(object.GetLabels())) && o.Fields.Matches(set)
}

// WatchOptions are the options of a watch. Limit, Continue and Match are ignored.
type WatchOptions struct {
	ListOptions
	// Initial makes the watch begin with the current objects, as added ones, at the
	// ResourceVersion or a later one. Otherwise it begins after that version, or now if
	// that is 0 or missing. A nil Initial means true if the version is 0 or missing.
	Initial *bool
}

// begin returns the requested version, 0 for none, and whether the current objects come first.
func (o WatchOptions) begin() (version uint64, initial bool, err error) {
	if o.ResourceVersion != "" {
		version, err = ParseVersion(o.ResourceVersion)
	}
	if o.Initial != nil {
		return version, *o.Initial, err
	}
	return version, version == 0, err
}
