package cacher

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// index holds the objects of one kind, sorted by name: all objects, and the objects with each
// label and on each machine. It has no lock of its own.
type index struct {
	byName  sorted
	byLabel map[label]*sorted
}

// label is one of an object, or its machine.
type label struct{ key, value, machine string }

// labelsOf yields a machine, unless it is "", and labels.
func labelsOf(machine string, labels map[string]string) iter.Seq[label] {
	return func(send func(label) bool) {
		if machine != "" && !send(label{machine: machine}) {
			return
		}
		for key, value := range labels {
			if !send(label{key: key, value: value}) {
				return
			}
		}
	}
}

// sorted holds objects, sorted by name.
type sorted struct {
	btree.Map[string, *storage.Object]
}

// all reports whether the names of all objects have a prefix.
func (s *sorted) all(prefix string) bool {
	first, _, _ := s.Min()
	last, _, _ := s.Max()
	return strings.HasPrefix(first, prefix) && strings.HasPrefix(last, prefix)
}

// ascend yields the objects whose names have a prefix.
func (s *sorted) ascend(prefix string, send func(*storage.Object) bool) {
	s.Ascend(prefix, func(name string, object *storage.Object) bool { return strings.HasPrefix(name, prefix) && send(object) })
}

func makeIndex() *index { return &index{byLabel: map[label]*sorted{}} }

// get returns the first object of a key, nil if there is none.
func (x *index) get(key api.Key) (found *storage.Object) {
	x.each(key, func(object *storage.Object) bool {
		found = object
		return false
	})
	return found
}

// each yields the objects of a key.
func (x *index) each(key api.Key, send func(*storage.Object) bool) {
	x.byName.ascend(storage.NamePrefix(key), send)
}

// list returns the selected objects. It reads only the objects with the rarest of the labels, or of the machine.
func (x *index) list(selection storage.Selection) (found []*storage.Object) {
	rarest, conditions := &x.byName, 0
	for wanted := range labelsOf(selection.Machine, selection.Labels) {
		conditions++
		carriers := x.byLabel[wanted]
		if carriers == nil {
			return nil
		}
		if carriers.Len() < rarest.Len() {
			rarest = carriers
		}
	}
	prefix := ""
	if selection.Namespace != "" {
		prefix = selection.Namespace + "\x00"
	}
	isAll := conditions < 2
	if isAll && rarest.all(prefix) {
		return rarest.Values()
	}
	rarest.ascend(prefix, func(object *storage.Object) bool {
		if isAll || selection.Includes(object) {
			found = append(found, object)
		}
		return true
	})
	return found
}

// listAt returns all objects as of an earlier version. then maps the names of the objects that have
// changed since to their prior states, nil if the object did not exist. listAt is called for each
// page of a list, and blocks writers, so it walks the index once and does not sort it.
func (x *index) listAt(then map[string]*storage.Object) []*storage.Object {
	list := make([]*storage.Object, 0, x.byName.Len())
	changed := slices.Sorted(maps.Keys(then))
	add := func(object *storage.Object) {
		if object != nil {
			list = append(list, object)
		}
	}
	x.byName.Scan(func(name string, object *storage.Object) bool {
		for ; len(changed) > 0 && changed[0] < name; changed = changed[1:] {
			add(then[changed[0]])
		}
		if len(changed) > 0 && changed[0] == name {
			object, changed = then[name], changed[1:]
		}
		add(object)
		return true
	})
	for _, name := range changed {
		add(then[name])
	}
	return list
}

// swap replaces a version of an object by another one; either may be nil.
func (x *index) swap(before, after *storage.Object) {
	if before != nil {
		x.remove(before, after)
	}
	if after != nil {
		x.add(after)
	}
}

func (x *index) add(object *storage.Object) {
	name := object.Name()
	x.byName.Set(name, object)
	for own := range labelsOf(storage.MachineOf(object), object.GetLabels()) {
		carriers := x.byLabel[own]
		if carriers == nil {
			carriers = &sorted{}
			x.byLabel[own] = carriers
		}
		carriers.Set(name, object)
	}
}

// remove removes an object from where the next version, if there is one, does not take its place.
func (x *index) remove(object, next *storage.Object) {
	name := object.Name()
	if next != nil && next.Name() == name && storage.MachineOf(next) == storage.MachineOf(object) && maps.Equal(next.GetLabels(), object.GetLabels()) {
		return
	}
	x.byName.Delete(name)
	for own := range labelsOf(storage.MachineOf(object), object.GetLabels()) {
		carriers := x.byLabel[own]
		if carriers.Delete(name); carriers.Len() == 0 {
			delete(x.byLabel, own)
		}
	}
}
