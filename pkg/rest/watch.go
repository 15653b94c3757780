package rest

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Event is one event of a watch.
type Event struct {
	Type   watch.EventType
	Object Answer
}

// maxInitial bounds how many of the initial objects are looked at at once.
const maxInitial = 100

// Watch gives out the events of the objects that were asked for: each change once, in
// their order. It is for one goroutine at a time. Who has begun it stops it.
type Watch struct {
	// New returns an empty object, with its kind set.
	New func() Object
	// Translate appends what a change of the store is to the watcher: no event, or some.
	Translate func(into []Event, change storage.Event) ([]Event, error)

	unstored []Event           // that come first
	initial  []*storage.Object // that come then
	owesEnd  bool              // it is still to be said that these have ended
	version  uint64
	changes  storage.Watcher // nil if there can be none
	last     []Event         // the last ones, whose place is used again
}

// WatchMade returns a watch of objects that are not stored and never change. They have
// their kind set.
func WatchMade(newObject func() Object, version uint64, objects []runtime.Object, options WatchOptions) (*Watch, error) {
	_, initial, err := options.begin()
	if err != nil {
		return nil, err
	}
	w := &Watch{New: newObject, version: version, owesEnd: initial}
	if initial {
		for _, object := range objects {
			w.unstored = append(w.unstored, Event{watch.Added, MakeAnswer(object)})
		}
	}
	return w, nil
}

// BeginWatch begins a watch of the selected internal objects, whose Translate is the caller's to
// set. The error is a 410 if changes after the version are not known any more, or, because
// reads are never stale, not yet.
func BeginWatch(objects storage.Interface, selection storage.Selection, options WatchOptions) (*Watch, error) {
	version, initial, err := options.begin()
	if err != nil {
		return nil, err
	}
	w := &Watch{version: version}
	switch {
	case initial:
		list, err := ReadNew(objects, selection, version, options.ResourceVersion != "")
		if err != nil {
			return nil, err
		}
		w.initial, w.version, w.owesEnd = list.Items, list.Version, true
	case version == 0:
		if w.version, err = objects.Version(); err != nil {
			return nil, err
		}
	}
	w.changes, err = objects.Watch(selection, w.version)
	return w, err
}

// Next returns the next events, at least one: those that there are, also if the context has
// ended, else it waits for some until it ends, and returns its error then. They are the
// caller's until the next call. A watch that reads too slowly is cut off: the error is a 410. After
// the initial objects comes a bookmark that says so.
func (w *Watch) Next(ctx context.Context) (events []Event, err error) {
	for first := true; len(events) == 0; first = false {
		if err := ctx.Err(); err != nil && !first { // others may change much that is not selected
			return nil, err
		}
		switch {
		case len(w.unstored) > 0:
			events, w.unstored = w.unstored, nil
		case len(w.initial) > 0:
			events, err = w.nextInitial()
		case w.owesEnd:
			w.owesEnd = false
			events = []Event{w.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})}
		case w.changes == nil:
			<-ctx.Done()
			return nil, ctx.Err()
		default:
			events, err = w.nextChanges(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return events, nil
}

// nextInitial returns the events of some of the initial objects.
func (w *Watch) nextInitial() (events []Event, err error) {
	events = w.reused()
	n := min(len(w.initial), maxInitial)
	for _, object := range w.initial[:n] {
		if events, err = w.Translate(events, storage.Event{Type: storage.Added, Version: object.Version(), After: object}); err != nil {
			return nil, err
		}
	}
	w.initial, w.last = w.initial[n:], events
	return events, nil
}

func (w *Watch) nextChanges(ctx context.Context) (events []Event, err error) {
	changes, err := w.changes.Next(ctx)
	w.version = w.changes.Version()
	if err != nil {
		if api.KindOf(err) == api.Expired {
			err = apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")
		}
		return nil, err
	}
	events = w.reused()
	for _, change := range changes {
		if events, err = w.Translate(events, change); err != nil {
			return nil, err
		}
	}
	w.last = events
	return events, nil
}

// reused returns the place of the last events, without them.
func (w *Watch) reused() []Event {
	clear(w.last)
	return w.last[:0]
}

// Stop releases the watch. It must not be used any more.
func (w *Watch) Stop() {
	if w.changes != nil {
		w.changes.Stop()
	}
}

// Bookmark returns an event that says up to which version all events have been given out,
// none as long as initial objects are missing.
func (w *Watch) Bookmark() []Event {
	if w.owesEnd {
		return nil
	}
	return []Event{w.bookmark(nil)}
}

func (w *Watch) bookmark(annotations map[string]string) Event {
	object := w.New()
	object.SetAnnotations(annotations)
	object.SetResourceVersion(strconv.FormatUint(w.version, 10))
	return Event{watch.Bookmark, MakeAnswer(object)}
}
