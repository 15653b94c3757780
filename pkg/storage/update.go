package storage

import (
	"errors"
	"time"

	"kube2014/pkg/api"
)

// updateTime bounds how long an update is tried again while others change the
// object first.
const updateTime = 2 * time.Second

// GuaranteedUpdate replaces an object by what change makes of it, or creates it: it
// reads the object, calls change, and writes what that returns if nobody has changed
// the object meanwhile; else it begins again. Stored is nil if there is no object, or
// none that can be decoded; it must not be changed. If change fails, nothing is
// written. It may take its time: who is asked about a change may be far away.
func GuaranteedUpdate(store Interface, key api.Key, change func(stored *Object) (api.Object, error)) (*Object, error) {
	now := clockOf(store)
	for began := now(); ; {
		update, err := makeUpdate(store, key, func(stored *Object) (api.Object, error) {
			asked := now()
			next, err := change(stored)
			began = began.Add(now().Sub(asked)) // it is not the store that is slow
			return next, err
		})
		if err != nil {
			return nil, err
		}
		update.Began = began
		written, err := store.Commit(update)
		switch api.KindOf(err) {
		case "":
			return written[0], nil
		case api.Conflict, api.AlreadyExists, api.NotFound: // somebody else was first
		default:
			return nil, err
		}
		if now().Sub(began) > updateTime {
			return nil, api.NewConflict("%s is changed by too many others at once", key.InWords())
		}
	}
}

func clockOf(store Interface) func() time.Time {
	if clock, ok := store.(Clock); ok {
		return clock.Now
	}
	return time.Now
}

// makeUpdate reads an object and returns the change that replaces it, or creates it.
func makeUpdate(store Interface, key api.Key, change func(stored *Object) (api.Object, error)) (Change, error) {
	stored, err := store.Get(key)
	var undecodable *Undecodable
	expected := Absent
	switch {
	case err == nil:
		expected = stored.Version()
	case errors.As(err, &undecodable):
		expected = undecodable.Version
	case api.KindOf(err) != api.NotFound:
		return Change{}, err
	}
	object, refusal := change(stored)
	if refusal != nil && undecodable != nil {
		return Change{}, err
	}
	if refusal != nil {
		return Change{}, refusal
	}
	return Update(object, expected), nil
}
