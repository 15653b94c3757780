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
	w, err := rest.BeginWatch(s.Objects, s.selection(namespace, options.ListOptions), options)
	if err != nil {
		return nil, rest.StatusError(err, s.resource, "")
	}
	w.New = func() rest.Object {
		object := s.New()
		object.GetObjectKind().SetGroupVersionKind(s.kind)
		return object
	}
	w.Prepare = s.prepare
	isSelected := s.filter(options.ListOptions)
	w.Translate = func(into []rest.Event, change storage.Event) ([]rest.Event, error) {
		eventType, object, err := selects(change, isSelected)
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
func selects(change storage.Event, isSelected func(*storage.Object) (bool, error)) (_ watch.EventType, _ *storage.Object, err error) {
	var was, is bool
	if change.Before != nil {
		was, err = isSelected(change.Before)
	}
	if err == nil && change.After != nil {
		is, err = isSelected(change.After)
	}
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
