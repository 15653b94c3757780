// Package schema checks objects of today's API by the markers of their types, values of enums and repeated elements of
// lists that are sets or maps, and by a table of limits.
package schema

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// mostErrors are added at most. A long list may have any number of them.
const mostErrors = 100

// Check adds the errors of an object, which is a pointer to a struct of k8s.io/api, in the order of its fields, and of its
// update unless the old one is nil. It is called after the rules of the kind: a field that these have an error about, or that
// is in a field of which they have one, gets no other one, but that it may not change. Metadata, status and empty values are not checked. Check is safe
// for concurrent use.
func Check(c *check.Errors, now, old any) {
	v, before := reflect.ValueOf(now).Elem(), reflect.Indirect(reflect.ValueOf(old))
	of, w := kindOf(v.Type()), walk{errors: c, left: mostErrors}
	w.value(v, of.rules)
	if before.IsValid() {
		w.fixed(v, before, of.fixed)
	}
}

// CheckStatus is Check for updates of the status. Only its limits are checked.
func CheckStatus(c *check.Errors, now any) {
	v := reflect.ValueOf(now).Elem()
	w := walk{errors: c, left: mostErrors, onlyLimits: true}
	w.value(v, kindOf(v.Type()).status)
}

// walk is one check of an object.
type walk struct {
	errors *check.Errors
	at     []step          // where it is now
	known  map[string]bool // the paths of the errors of rules, without indexes; nil before the first error
	left   int             // of mostErrors
	// onlyLimits leaves enums and repeated elements unchecked.
	onlyLimits bool
}

// step leads to a field, or to an element of a list. A path is made of steps only for an error.
type step struct {
	name  string // of a field; "" for an element
	index int
}

func (w *walk) path() (path *field.Path) {
	for _, s := range w.at {
		if s.name == "" {
			path = path.Index(s.index)
		} else {
			path = path.Child(s.name)
		}
	}
	return path
}

func (w *walk) in(s step) { w.at = append(w.at, s) }
func (w *walk) out()      { w.at = w.at[:len(w.at)-1] }

// add adds an error, unless a rule has one about the field or what it is in. Rules do not always tell
// which element of a list is wrong.
func (w *walk) add(err *field.Error) {
	if w.known == nil {
		w.known = map[string]bool{}
		for _, old := range w.errors.List {
			w.known[withoutIndexes(old.Field)] = true
		}
	}
	path := withoutIndexes(err.Field)
	if !w.known[path] && !w.known[path[:max(strings.LastIndex(path, "."), 0)]] {
		w.errors.Add(err)
		w.left--
	}
}

var index = regexp.MustCompile(`\[[^]]*]`)

func withoutIndexes(path string) string { return index.ReplaceAllString(path, "") }

func (w *walk) value(v reflect.Value, of *rules) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.value(v.Elem(), of)
		}
	case reflect.String:
		if text := v.String(); !w.onlyLimits && text != "" && !slices.Contains(of.values, text) {
			w.add(field.NotSupported(w.path(), text, of.values))
		}
	case reflect.Slice:
		for i := 0; i < v.Len() && w.left > 0; i++ {
			w.in(step{"", i})
			w.value(v.Index(i), of.elem)
			w.out()
		}
	case reflect.Struct:
		for i := 0; i < len(of.fields) && w.left > 0; i++ {
			w.member(v, &of.fields[i])
		}
	}
}

func (w *walk) member(of reflect.Value, m *member) {
	if m.name != "" {
		w.in(step{m.name, 0})
		defer w.out()
	}
	v := of.Field(m.index)
	if m.limit != nil {
		w.limit(v, m.limit)
	}
	if m.unique != nil && v.Len() > 1 && !w.onlyLimits {
		w.unique(v, m.unique)
	}
	if m.rules != nil {
		w.value(v, m.rules)
	}
}

// unique checks a list for repeated elements. In a set they are values, else a field identifies them.
func (w *walk) unique(list reflect.Value, by *key) {
	seen := make(map[any]bool, list.Len())
	for i := 0; i < list.Len() && w.left > 0; i++ {
		value, at := list.Index(i), w.path().Index(i)
		if by.name != "" {
			value, at = value.Field(by.index), at.Child(by.name)
		}
		one := value.Interface()
		if seen[one] {
			w.add(field.Duplicate(at, one))
		}
		seen[one] = true
	}
}
