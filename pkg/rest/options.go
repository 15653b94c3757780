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

// Admission decides about a change. Each storage calls both methods for each of its changes,
// in this order, and returns their errors to the client.
type Admission interface {
	// Mutate returns the object to store instead of the given one, before it is completed
	// and checked. The object is nil for a delete; old is nil for a new object.
	Mutate(object, old Object) (Object, error)
	// Validate returns an error if a complete and valid object must not be stored or, when the
	// object is nil, if old must not be deleted.
	Validate(object, old Object) error
}

// Defaulter is a storage of objects with defaults.
type Defaulter interface {
	// Default sets the missing fields of an object of its type, as before an object is admitted.
	Default(object Object)
}

// WriteOptions are the options of a create or an update.
type WriteOptions struct {
	DryRun    bool              // nothing is stored
	Admission Admission         // nil admits everything
	Warn      func(text string) // sends a warning to the client; may be nil
	// Manager gets the fields that change. If it is nil, the managed fields are those of the object.
	Manager *string
	// ForceCreate lets an update create any object that is missing.
	ForceCreate bool
}

// Server is the manager of what the server itself writes.
const Server = "kube-apiserver"

// AsServer returns the options of an update by the server itself.
func AsServer() WriteOptions { return WriteOptions{Manager: new(Server)} }

// DeleteOptions are the options of a delete.
type DeleteOptions struct {
	metav1.DeleteOptions
	Admission Admission // nil admits everything
}

// Mutate calls the admission, if there is one.
func (o WriteOptions) Mutate(object, old Object) (Object, error) {
	if o.Admission == nil {
		return object, nil
	}
	return o.Admission.Mutate(object, old)
}

// Validate calls the admission, if there is one.
func (o WriteOptions) Validate(object, old Object) error {
	if o.Admission == nil {
		return nil
	}
	return o.Admission.Validate(object, old)
}

// Admit calls Mutate and Validate, for a storage that does nothing in between.
func (o WriteOptions) Admit(object, old Object) (Object, error) {
	admitted, err := o.Mutate(object, old)
	if err != nil {
		return nil, err
	}
	return admitted, o.Validate(admitted, old)
}

// Write returns the options of the writes that a delete makes.
func (o DeleteOptions) Write() WriteOptions {
	return WriteOptions{DryRun: len(o.DryRun) > 0, Admission: o.Admission}
}
