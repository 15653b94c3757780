package registry

import (
	"maps"
	"slices"

	"kube2014/pkg/api"
)

// table holds the objects of one kind by id. It has no lock of its own. What it
// holds is never changed, only replaced: it is copied on its way in and on its
// way out.
type table[Object copier[Object]] struct {
	kind    api.Kind // the word for an object, in errors
	objects map[string]Object
}

// copier is a wire type that can be copied whole.
type copier[Object any] interface{ DeepCopy() Object }

func makeTable[Object copier[Object]](kind api.Kind) table[Object] {
	return table[Object]{kind: kind, objects: map[string]Object{}}
}

// list returns copies of the objects, sorted by id (D28).
func (t table[Object]) list() []Object {
	list := []Object{}
	for _, id := range slices.Sorted(maps.Keys(t.objects)) {
		list = append(list, t.objects[id].DeepCopy())
	}
	return list
}

func (t table[Object]) get(id string) (*Object, error) {
	object, ok := t.objects[id]
	if !ok {
		return nil, api.NewNotFound(t.kind, id)
	}
	copied := object.DeepCopy()
	return &copied, nil
}

func (t table[Object]) has(id string) bool {
	_, ok := t.objects[id]
	return ok
}

func (t table[Object]) create(id string, object Object) error {
	if t.has(id) {
		return api.NewAlreadyExists(t.kind, id)
	}
	t.put(id, object)
	return nil
}

func (t table[Object]) put(id string, object Object) {
	t.objects[id] = object.DeepCopy()
}

func (t table[Object]) remove(id string) error {
	if !t.has(id) {
		return api.NewNotFound(t.kind, id)
	}
	delete(t.objects, id)
	return nil
}
