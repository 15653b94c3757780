package storage

import (
	"reflect"
	"time"
)

const (
	// maxEvents bounds the history.
	maxEvents = 10000
	// maxHistorySize bounds what the history keeps in memory of objects that are
	// gone, in bytes.
	maxHistorySize = 64 << 20
)

// history is the last changes of a store, in their order. It has no lock of its
// own.
type history struct {
	events  []Event
	first   uint64        // how many events have been dropped: the number of the first one here
	since   uint64        // all changes after this version are here
	size    int           // of the objects that were replaced or deleted, in bytes
	changed chan struct{} // closed at the next change
}

func makeHistory(version uint64) history {
	return history{first: maxEvents, since: version, changed: make(chan struct{})} // extend counts down from first
}

// add appends events that were made together, drops the oldest ones if there are too
// many, and wakes those who wait.
func (h *history) add(events []Event) {
	for i, event := range events {
		event.size, event.last = sizeOfReplaced(event), i == len(events)-1
		h.events = append(h.events, event)
		h.size += event.size
	}
	for len(h.events) > maxEvents || (h.size > maxHistorySize && len(h.events) > 0) {
		h.size -= h.events[0].size
		h.since = h.events[0].Version
		h.events[0] = Event{} // the array may live longer
		h.events = h.events[1:]
		h.first++
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// restart drops all events, and cuts off whoever watches: no event gets a number that
// one of theirs had, also if the history is extended.
func (h *history) restart(version uint64) {
	h.first += uint64(len(h.events)) + maxEvents + 1
	h.events, h.size, h.since = nil, 0, version
	close(h.changed)
	h.changed = make(chan struct{})
}

// sizeOfReplaced estimates how much memory an event keeps from being freed. JSON that is made
// later, for who lags behind or sees a last state, is not counted.
func sizeOfReplaced(event Event) int {
	if event.Before == nil {
		return 0
	}
	size := sizeOf(reflect.ValueOf(event.Before.Object))
	for kept := event.Before.texts.Load(); kept != nil; kept = kept.next {
		size += int(kept.size.Load())
	}
	return size
}

// sizeOf estimates the memory that a value takes, in bytes, with all that it points
// to. The zone of a time is not its own, and may be being loaded.
func sizeOf(value reflect.Value) int {
	size := int(value.Type().Size())
	if value.Type() == reflect.TypeFor[time.Time]() {
		return size
	}
	switch value.Kind() {
	case reflect.String:
		size += value.Len()
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			size += sizeOf(value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			size += sizeOf(value.Index(i))
		}
	case reflect.Map:
		for entry := value.MapRange(); entry.Next(); {
			size += sizeOf(entry.Key()) + sizeOf(entry.Value())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			size += sizeOf(value.Field(i)) - int(value.Field(i).Type().Size())
		}
	}
	return size
}
