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
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checks collects errors. Its methods add one if their condition does not hold.
type checks struct{ errs field.ErrorList }

func (c *checks) add(errs ...*field.Error) { c.errs = append(c.errs, errs...) }

func (c *checks) forbid(bad bool, path *field.Path, detail string) {
	if bad {
		c.add(field.Forbidden(path, detail))
	}
}

func (c *checks) invalidIf(bad bool, path *field.Path, value any, detail string) {
	if bad {
		c.add(field.Invalid(path, value, detail))
	}
}

// require asks for a text, and tells whether it is there.
func (c *checks) require(path *field.Path, text string) bool {
	if text == "" {
		c.add(field.Required(path, ""))
	}
	return text != ""
}

// some asks for at least one thing of a list, or one byte of a text.
func (c *checks) some(path *field.Path, length int, detail string) {
	if length == 0 {
		c.add(field.Required(path, detail))
	}
}

// each adds one error for each message about the value.
func (c *checks) each(path *field.Path, value any, messages []string) {
	for _, message := range messages {
		c.add(field.Invalid(path, value, message))
	}
}

func (c *checks) label(path *field.Path, value string) {
	c.each(path, value, utilvalidation.IsDNS1123Label(value))
}

func (c *checks) subdomain(path *field.Path, value string) {
	c.each(path, value, utilvalidation.IsDNS1123Subdomain(value))
}

func (c *checks) qualified(path *field.Path, value string) {
	c.each(path, value, utilvalidation.IsQualifiedName(value))
}

// requireLabel asks for a text that is a DNS label.
func (c *checks) requireLabel(path *field.Path, value string) {
	if c.require(path, value) {
		c.label(path, value)
	}
}

func (c *checks) nonnegative(path *field.Path, value int64) {
	c.add(apivalidation.ValidateNonnegativeField(value, path)...)
}

func (c *checks) positive(path *field.Path, value int64) {
	c.invalidIf(value <= 0, path, value, "must be greater than zero")
}

func (c *checks) selector(path *field.Path, selector *metav1.LabelSelector) {
	c.add(metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{}, path)...)
}

func (c *checks) ip(path *field.Path, value string, known ...string) {
	c.add(utilvalidation.IsValidIPForLegacyField(path, value, true, known)...)
}

func (c *checks) cidr(path *field.Path, value string, known ...string) {
	c.add(utilvalidation.IsValidCIDRForLegacyField(path, value, true, known)...)
}

// supported asks for one of the values, which are told in the order given.
func supported[T ~string](c *checks, path *field.Path, value T, values ...T) bool {
	ok := slices.Contains(values, value)
	if !ok {
		c.add(field.NotSupported(path, value, values))
	}
	return ok
}

// requireSupported is supported for values that defaults set.
func requireSupported[T ~string](c *checks, path *field.Path, value T, values ...T) {
	if c.require(path, string(value)) {
		supported(c, path, value, values...)
	}
}

// ifSupported is supported for what may be left out.
func ifSupported[T ~string](c *checks, path *field.Path, value *T, values ...T) {
	if value != nil {
		supported(c, path, *value, values...)
	}
}

// unique reports values that it gets twice.
type unique map[string]bool

func (u unique) check(c *checks, path *field.Path, value string) {
	if u[value] {
		c.add(field.Duplicate(path, value))
	}
	u[value] = true
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// metadata checks that of an object to be created.
func (c *checks) metadata(meta *metav1.ObjectMeta, namespaced bool, name apivalidation.ValidateNameFunc) {
	path := field.NewPath("metadata")
	c.add(apivalidation.ValidateObjectMeta(meta, namespaced, name, path)...)
	c.finalizers(meta, path)
}

func (c *checks) metadataUpdate(now, old *metav1.ObjectMeta) {
	path := field.NewPath("metadata")
	c.add(apivalidation.ValidateObjectMetaUpdate(now, old, path)...)
	c.finalizers(now, path)
}

func (c *checks) finalizers(meta *metav1.ObjectMeta, path *field.Path) {
	standard := []string{"kubernetes", metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	for i, name := range meta.Finalizers {
		c.invalidIf(!strings.Contains(name, "/") && !slices.Contains(standard, name), path.Child("finalizers").Index(i), name,
			"name is neither a standard finalizer name nor is it fully qualified")
	}
}

// update returns the errors of the check that the old object, checked against itself, does
// not have: what it always had wrong may stay.
func update[T any](now, old *T, check func(c *checks, now, old *T)) field.ErrorList {
	var after, before checks
	check(&after, now, old)
	if len(after.errs) == 0 {
		return nil
	}
	check(&before, old, old)
	known := sets.New[string]()
	for _, err := range before.errs {
		known.Insert(err.Error())
	}
	return slices.DeleteFunc(after.errs, func(err *field.Error) bool { return known.Has(err.Error()) })
}

func same(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// is tells that the flag is set and true.
func is(flag *bool) bool { return flag != nil && *flag }
