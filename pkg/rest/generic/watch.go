package generic

import (
	"context"

	"k8s.io/apimachinery/pkg/watch"

	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Watch implements rest.Watcher.
func (s *Store[T]) Watch(_ context.Context, namespace string, options rest.WatchOptions) (*rest.Watch, error) {
	if err := s.checkFields(options.ListOptions); err != nil {
		return nil, err
	}
	w, err := rest.BeginWatch(s.Objects, s.selection(options.ListOptions), options)
	if err != nil {
		return nil, rest.StatusError(err, s.resource, "")
	}
	w.New = func() rest.Object {
		object := s.New()
		object.GetObjectKind().SetGroupVersionKind(s.kind)
		return object
	}
	w.Translate = func(into []rest.Event, change storage.Event) ([]rest.Event, error) {
		if !s.hasNamespace(namespace) {
			return into, nil
		}
		eventType, object, err := s.selects(change, options.ListOptions)
		if err != nil || object == nil {
			return into, err
		}
		return append(into, rest.Event{Type: eventType, Object: rest.Stored(s.Codec, object)}), nil
	}
	return w, nil
}

// selects returns the type and the object of the event for a change, nil for no event. An object may enter
// or leave the selection: if it leaves, the event has its last selected state, at the version of the
// change.
func (s *Store[T]) selects(change storage.Event, options rest.ListOptions) (watch.EventType, *storage.Object, error) {
	was, err := s.isSelected(change.Before, options)
	if err != nil {
		return "", nil, err
	}
	is, err := s.isSelected(change.After, options)
	switch {
	case err != nil:
		return "", nil, err
	case is && was:
		return watch.Modified, change.After, nil
	case is:
		return watch.Added, change.After, nil
	case was:
		return watch.Deleted, change.Last(), nil
	}
	return "", nil, nil
}

// isSelected reports whether an object, nil for none, is selected.
func (s *Store[T]) isSelected(object *storage.Object, options rest.ListOptions) (bool, error) {
	if object == nil {
		return false, nil
	}
	return s.matches(object, options)
}
