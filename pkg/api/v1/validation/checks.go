// Package validation says what is wrong with an object of today's API, in the order and
// the words of kube-apiserver 1.36. Its functions expect objects that were defaulted (see
// package defaults), report all errors at once, and change nothing. They are safe for
// concurrent use as long as nobody changes the objects.
//
// An update is held to the rules of today only in what it changes: an object that came
// through the first door may have a name, or labels, that could not be created here.
// Callers give the new object the old one's resourceVersion, uid and creationTimestamp
// before they ask, if the client left them out.
package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// checks are the rules of this package, and the errors that they have found.
type checks struct{ *check.Errors }

func newChecks() checks { return checks{&check.Errors{}} }

// update returns the errors of the rules that the old object, checked against itself, does
// not have: what it always had wrong may stay.
func update[T any](now, old *T, rules func(c checks, now, old *T)) field.ErrorList {
	after, before := newChecks(), newChecks()
	rules(after, now, old)
	if len(after.List) == 0 {
		return nil
	}
	rules(before, old, old)
	known := sets.New[string]()
	for _, err := range before.List {
		known.Insert(err.Error())
	}
	return slices.DeleteFunc(after.List, func(err *field.Error) bool { return known.Has(err.Error()) })
}
