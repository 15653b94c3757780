package storage

import (
	"maps"
	"slices"

	"github.com/tidwall/btree"

	"kube2014/pkg/api"
)

// index holds the objects of one kind, sorted by name: all of them, and those that
// carry a label. It has no lock of its own.
type index struct {
	byID    sorted
	byLabel map[label]*sorted
}

type label struct{ key, value string }

// sorted are objects, sorted by name.
type sorted struct{ btree.Map[string, *Object] }

func makeIndex() *index { return &index{byLabel: map[label]*sorted{}} }

// nameOf returns what tells an object from the others of its kind: its id, and the
// machine of a task, because other programs may give two tasks the same id. A pod keeps
// its name when it gets a machine.
func nameOf(object *Object) string {
	id := object.GetID()
	if task, ok := object.Object.(*api.Task); ok {
		id += "\x00"
		if !task.IsPod {
			id += task.CurrentState.Host
		}
	}
	return id
}

// get returns the first object that has the id, nil if there is none.
func (x *index) get(id string) (found *Object) {
	x.each(id, func(object *Object) bool {
		found = object
		return false
	})
	return found
}

// each passes on the objects that have the id, until one is not wanted.
func (x *index) each(id string, send func(*Object) bool) {
	x.byID.Ascend(id, func(_ string, object *Object) bool { return object.GetID() == id && send(object) })
}

// list returns the objects that carry all the labels. It looks only at those that
// carry the rarest of these labels.
func (x *index) list(labels map[string]string) []*Object {
	rarest := &x.byID
	for key, value := range labels {
		carriers := x.byLabel[label{key, value}]
		if carriers == nil {
			return nil
		}
		if carriers.Len() < rarest.Len() {
			rarest = carriers
		}
	}
	if len(labels) < 2 {
		return rarest.Values()
	}
	var found []*Object
	rarest.Scan(func(_ string, object *Object) bool {
		if Carries(object.GetLabels(), labels) {
			found = append(found, object)
		}
		return true
	})
	return found
}

// listAt returns all objects as they once were. Then has those that have changed since, by
// name, nil for one that was not there. Somebody who reads page after page asks for the
// list again for each one, and writers wait meanwhile: it takes one walk, and does not sort.
func (x *index) listAt(then map[string]*Object) []*Object {
	list := make([]*Object, 0, x.byID.Len())
	changed := slices.Sorted(maps.Keys(then))
	add := func(object *Object) {
		if object != nil {
			list = append(list, object)
		}
	}
	x.byID.Scan(func(name string, object *Object) bool {
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

// Carries reports whether labels has all of the query.
func Carries(labels, query map[string]string) bool {
	for key, value := range query {
		if own, ok := labels[key]; !ok || own != value {
			return false
		}
	}
	return true
}

// swap puts a version of an object into the place of another one; either may be
// nil.
func (x *index) swap(before, after *Object) {
	if before != nil {
		x.remove(before)
	}
	if after != nil {
		x.add(after)
	}
}

func (x *index) add(object *Object) {
	name := nameOf(object)
	x.byID.Set(name, object)
	for key, value := range object.GetLabels() {
		carriers := x.byLabel[label{key, value}]
		if carriers == nil {
			carriers = &sorted{}
			x.byLabel[label{key, value}] = carriers
		}
		carriers.Set(name, object)
	}
}

func (x *index) remove(object *Object) {
	name := nameOf(object)
	x.byID.Delete(name)
	for key, value := range object.GetLabels() {
		carriers := x.byLabel[label{key, value}]
		if carriers.Delete(name); carriers.Len() == 0 {
			delete(x.byLabel, label{key, value})
		}
	}
}
