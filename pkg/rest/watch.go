package rest

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Event is one event of a watch.
type Event struct {
	Type   watch.EventType
	Object Answer
}

// maxInitial bounds the number of initial objects that are translated at once.
const maxInitial = 100

// Watch returns the events of the selected objects: each change once, in order. It is not
// safe for concurrent use. The caller that begins it must stop it.
type Watch struct {
	// New returns an empty object, with its kind set.
	New func() Object
	// Translate appends the watcher's events for a change of the store, if there are any.
	Translate func(into []Event, change storage.Event) ([]Event, error)

	// Prepare encodes objects together before they are translated. It may be nil.
	Prepare func(ctx context.Context, objects []*storage.Object) error

	initial     []*storage.Object // the objects whose events come first
	bookmarkDue bool              // the bookmark after the initial objects must still be sent
	version     uint64
	changes     storage.Watcher
	last        []Event // the last result of Next, whose memory is reused
}

// BeginWatch begins a watch of the selected stored objects. The caller must set New and Translate.
// The error is api.Expired, a 410, if the changes after the version are no longer available, or,
// because reads are never stale, not yet.
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
		w.initial, w.version, w.bookmarkDue = list.Items, list.Version, true
	case version == 0:
		if w.version, err = objects.Version(); err != nil {
			return nil, err
		}
	}
	w.changes, err = objects.Watch(selection, w.version)
	return w, err
}

// Next returns the next events, at least one. It returns available events even if the context
// has ended; otherwise it waits for some, and returns the context's error if that ends. The events
// are valid until the next call. A watch that reads too slowly is cut off: the error is a 410. A
// bookmark marks the end of the initial objects.
func (w *Watch) Next(ctx context.Context) (events []Event, err error) {
	for first := true; len(events) == 0; first = false {
		if err := ctx.Err(); err != nil && !first { // changes that are not selected must not delay the end
			return nil, err
		}
		switch {
		case len(w.initial) > 0:
			events, err = w.nextInitial(ctx)
		case w.bookmarkDue:
			w.bookmarkDue = false
			events = []Event{w.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})}
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
func (w *Watch) nextInitial(ctx context.Context) (events []Event, err error) {
	events = w.buffer()
	n := min(len(w.initial), maxInitial)
	if w.Prepare != nil {
		if err := w.Prepare(ctx, w.initial[:n]); err != nil {
			return nil, err
		}
	}
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
	events = w.buffer()
	for _, change := range changes {
		if events, err = w.Translate(events, change); err != nil {
			return nil, err
		}
	}
	w.last = events
	return events, nil
}

// buffer returns the memory of the last events, cleared.
func (w *Watch) buffer() []Event {
	clear(w.last)
	return w.last[:0]
}

// Stop releases the watch, which must not be used afterwards.
func (w *Watch) Stop() { w.changes.Stop() }

// Bookmark returns an event with the version up to which Next has returned all events, none
// before the end of the initial objects.
func (w *Watch) Bookmark() []Event {
	if w.bookmarkDue {
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

// ReadNew returns the selected objects at a version or a later one. If they may be stale, it
// prefers the cache.
func ReadNew(objects storage.Interface, selection storage.Selection, version uint64, mayBeStale bool) (*storage.List, error) {
	if mayBeStale {
		if list, err := objects.Cached().List(selection); err == nil && list.Version >= version && list.Version > 0 {
			return list, nil
		}
	}
	list, err := objects.List(selection)
	if err != nil {
		return nil, err
	}
	if list.Version < version {
		return nil, TooLarge(version, list.Version)
	}
	return list, nil
}

// TooLarge returns the error for a list at a version that the store has not reached.
func TooLarge(wanted, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// ParseVersion parses a resource version. The error is a 400 status.
func ParseVersion(text string) (uint64, error) {
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resource version: " + field.Invalid(field.NewPath("resourceVersion"), text, err.Error()).Error())
	}
	return version, nil
}
