package v1

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is one event of a watch.
type Event[T Object] struct {
	Type watch.EventType // watch.Added, watch.Modified, watch.Deleted or watch.Bookmark
	// Object is the object after the change. One that was deleted, or is not selected any
	// more, is as it was before, with the version of the change. That of a bookmark has only
	// a version: all changes up to it have been sent.
	Object T
}

// Watch goes through the changes after the ResourceVersion of the options, each one once, in
// their order; if that is empty, the present objects come first, as if they were added then.
// It waits for changes until the server ends the watch, after TimeoutSeconds or within an hour;
// the caller then goes on after the version of the last event. After an error it ends:
//
//   - errors.IsResourceExpired says that not all changes after the version are known any
//     more, so that the caller must list the objects again;
//   - io.ErrUnexpectedEOF, or an error of the network, that the connection was cut: the caller
//     goes on as above;
//   - ctx.Err() that the context has ended.
//
// The objects are the caller's own. Leaving the loop ends the watch.
func (r Resource[T]) Watch(ctx context.Context, options metav1.ListOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		if err := r.watch(ctx, options, func(event Event[T]) bool { return yield(event, nil) }); err != nil {
			yield(Event[T]{}, err)
		}
	}
}

// watch calls send for each event, until it does not want more.
func (r Resource[T]) watch(ctx context.Context, options metav1.ListOptions, send func(Event[T]) bool) (err error) {
	options.Watch = true
	sent := r.to(http.MethodGet)
	if sent.query, err = queryparams.Convert(&options); err != nil {
		return sent.failed(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := r.client.send(ctx, sent)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	inProtobuf, events := isProtobuf(resp), bufio.NewScanner(resp.Body)
	events.Buffer(make([]byte, 0, 512), r.client.answerLimit()) // it grows with the events
	events.Split(eventsOf(inProtobuf))
	for events.Scan() {
		event, err := r.decodeEvent(inProtobuf, events.Bytes())
		if err != nil {
			return sent.failed(err)
		}
		if !send(event) {
			return nil
		}
	}
	if err := events.Err(); err != nil {
		return sent.failed(fmt.Errorf("cannot read the next event: %w", err))
	}
	return nil
}

// decodeEvent reads an event. That of an error is returned as the error.
func (r Resource[T]) decodeEvent(inProtobuf bool, text []byte) (Event[T], error) {
	read, err := decodeRaw(inProtobuf, text)
	if err != nil {
		return Event[T]{}, fmt.Errorf("cannot decode an event: %w", err)
	}
	if read.Type == string(watch.Error) {
		var status metav1.Status
		if err := decode(inProtobuf, read.Object, &status); err != nil {
			return Event[T]{}, fmt.Errorf("cannot decode an error: %w", err)
		}
		return Event[T]{}, apierrors.FromObject(&status)
	}
	event := Event[T]{watch.EventType(read.Type), r.new()}
	if err := decode(inProtobuf, read.Object, event.Object); err != nil {
		return Event[T]{}, fmt.Errorf("cannot decode an object: %w", err)
	}
	if kind := event.Object.GetObjectKind().GroupVersionKind().Kind; kind != r.kind.Kind {
		return Event[T]{}, fmt.Errorf("the object is of the kind %q, not %s", kind, r.kind.Kind)
	}
	return event, nil
}
