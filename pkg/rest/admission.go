package rest

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Admission is asked about a change while it is made. Each storage that changes something
// calls both methods, in this order, with the error being the answer.
type Admission interface {
	// Mutate returns the object that will be stored instead of another one, before it is
	// completed and checked. Object is nil for a delete, old for a new object.
	Mutate(object, old Object) (Object, error)
	// Validate returns an error if a complete and valid object may not be stored, or an old one
	// not be deleted: then object is nil.
	Validate(object, old Object) error
}

// WriteOptions say how something is created or updated.
type WriteOptions struct {
	DryRun    bool      // nothing is stored
	Admission Admission // nil admits everything
}

// DeleteOptions say how something is deleted.
type DeleteOptions struct {
	metav1.DeleteOptions
	Admission Admission // nil admits everything
}

// Mutate asks the admission, if there is one.
func (o WriteOptions) Mutate(object, old Object) (Object, error) {
	if o.Admission == nil {
		return object, nil
	}
	return o.Admission.Mutate(object, old)
}

// Validate asks the admission, if there is one.
func (o WriteOptions) Validate(object, old Object) error {
	if o.Admission == nil {
		return nil
	}
	return o.Admission.Validate(object, old)
}

// Admit asks the admission for all, where nothing lies between.
func (o WriteOptions) Admit(object, old Object) (Object, error) {
	admitted, err := o.Mutate(object, old)
	if err != nil {
		return nil, err
	}
	return admitted, o.Validate(admitted, old)
}

// Write returns the options of the changes that a delete makes.
func (o DeleteOptions) Write() WriteOptions {
	return WriteOptions{DryRun: len(o.DryRun) > 0, Admission: o.Admission}
}
