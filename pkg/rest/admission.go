package rest

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
