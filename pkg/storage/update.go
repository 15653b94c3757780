package storage

import (
	"time"

	"kube2014/pkg/api"
)

// updateTime bounds how long an update is tried again while others change the
// object first.
const updateTime = 2 * time.Second

// GuaranteedUpdate replaces an object by what change makes of it, or creates it: it
// reads the object, calls change, and writes what that returns if nobody has changed
// the object meanwhile; else it begins again. Stored is nil if there is no object; it
// must not be changed. If change fails, nothing is written.
func GuaranteedUpdate(store Interface, kind api.Kind, id string, change func(stored *Object) (api.Object, error)) (*Object, error) {
	for began := time.Now(); ; {
		stored, err := store.Get(kind, id)
		if err != nil && api.KindOf(err) != api.NotFound {
			return nil, err
		}
		expected := Absent
		if stored != nil {
			expected = stored.Version()
		}
		object, err := change(stored)
		if err != nil {
			return nil, err
		}
		written, err := store.Commit(Update(object, expected))
		switch api.KindOf(err) {
		case "":
			return written[0], nil
		case api.Conflict, api.AlreadyExists, api.NotFound: // somebody else was first
		default:
			return nil, err
		}
		if time.Since(began) > updateTime {
			return nil, api.NewConflict("%s %s is changed by too many others at once", kind, api.Quote(id))
		}
	}
}
