package storage

import (
	"errors"
	"slices"
	"time"

	"kube2014/pkg/api"
)

// updateTime bounds how long an update is retried while other writers change the
// object first.
const updateTime = 2 * time.Second

// GuaranteedUpdate updates or creates an object: it reads the object, calls change, and
// writes the result; if the object has changed meanwhile, it retries. stored is read-only,
// and nil if the object is absent or corrupt. If change fails, nothing is written. The time
// spent in change does not count: it may call another server.
func GuaranteedUpdate(store Interface, key api.Key, change func(stored *Object) (api.Object, error)) (*Object, error) {
	now := ClockOf(store)
	for began := now(); ; {
		update, err := makeUpdate(store, key, func(stored *Object) (api.Object, error) {
			called := now()
			next, err := change(stored)
			began = began.Add(now().Sub(called)) // count only the time of the store
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
		case api.Conflict, api.AlreadyExists, api.NotFound: // another writer was first
		default:
			return nil, err
		}
		if now().Sub(began) > updateTime {
			return nil, api.NewConflict("%s is changed by too many others at once", key.InWords())
		}
	}
}

// CommitChecked commits changes together with checks of other objects. If one of those has changed since it was read, the
// checks are asked for again, and must be fresh then: not from a cache. It returns only what the changes have written.
func CommitChecked(store Interface, changes []Change, checks func(fresh bool) ([]Change, error)) ([]*Object, error) {
	checked, err := checks(false)
	for err == nil {
		attempt := append(slices.Clone(changes), checked...)
		for i := range changes {
			if object := changes[i].Object; object != nil {
				attempt[i].Object = Copy(object) // the store owns it, even if the commit fails
			}
		}
		written, failed := store.Commit(attempt...)
		if kind := api.KindOf(failed); len(checked) == 0 || kind != api.Conflict && kind != api.NotFound {
			return written[:min(len(written), len(changes))], failed
		}
		before := checked
		if checked, err = checks(true); err == nil && slices.Equal(before, checked) { // another change is the cause
			return nil, failed
		}
	}
	return nil, err
}

// ClockOf returns the clock of a store.
func ClockOf(store Interface) func() time.Time {
	if clock, ok := store.(Clock); ok {
		return clock.Now
	}
	return time.Now
}

// makeUpdate reads an object and returns the change that updates or creates it.
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
