package resourcequota

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// reservation is the place that a request has reserved for an object.
type reservation struct {
	Request string    `json:"request"` // two requests may want to create the same object
	ID      string    `json:"id"`      // of the object
	Until   time.Time `json:"until"`
}

// reservationsIn returns the reservations in a stored object, which may be nil. An object that cannot
// be read has none.
func reservationsIn(stored *storage.Object) (all []reservation) {
	if stored == nil || json.Unmarshal([]byte(stored.Meta().Remainder), &all) != nil {
		return nil
	}
	return all
}

// keyOf returns the key of the object with the reservations of a resource. No API serves it.
func keyOf(resource string) api.Key { return api.DefaultKey("quotas", resource) }

// quotaOf returns an object with reservations.
func quotaOf(id string, all []reservation) (api.Object, error) {
	key := keyOf(id)
	quota := &api.Any{Kind: key.Kind, ID: key.ID, ObjectMeta: api.ObjectMeta{Namespace: key.Namespace}}
	if len(all) == 0 {
		return quota, nil
	}
	text, err := json.Marshal(all)
	quota.Remainder = string(text)
	return quota, err
}

// count returns the number of stored and reserved objects, and whether an id is one of theirs. The
// list is sorted by id.
func count(list []*storage.Object, reserved []reservation, id string) (used int64, has bool) {
	isStored := func(id string) bool {
		_, found := slices.BinarySearchFunc(list, id, func(object *storage.Object, id string) int { return strings.Compare(object.Key().ID, id) })
		return found
	}
	has = isStored(id)
	more := map[string]bool{}
	for _, one := range reserved {
		has = has || one.ID == id
		if !isStored(one.ID) {
			more[one.ID] = true
		}
	}
	return int64(len(list) + len(more)), has
}
