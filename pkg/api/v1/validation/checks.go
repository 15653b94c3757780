// Package validation validates objects of today's API. The errors have the order and the words of
// kube-apiserver 1.36. Its functions expect defaulted objects (see package defaults), return all
// errors at once, and change nothing. They are safe for concurrent use as long as nobody changes
// the objects.
//
// An update must obey the rules only in what it changes: an object of the first door may have a
// name, or labels, that the second door would not create. If the client left out resourceVersion,
// uid or creationTimestamp, the caller sets them to those of the old object before.
package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// checks has the rules of this package and collects their errors.
type checks struct{ *check.Errors }

func newChecks() checks { return checks{&check.Errors{}} }

// creates returns a function that returns the errors of a new object.
func creates[T any](rules func(c checks, now T)) func(now T) field.ErrorList {
	return func(now T) field.ErrorList {
		c := newChecks()
		rules(c, now)
		return c.List
	}
}

// updates returns update for some rules.
func updates[T any](rules func(c checks, now, old T)) func(now, old T) field.ErrorList {
	return func(now, old T) field.ErrorList { return update(now, old, rules) }
}

// update returns the errors of the rules, except those of an update of the old object to itself:
// old mistakes may stay.
func update[T any](now, old T, rules func(c checks, now, old T)) field.ErrorList {
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
