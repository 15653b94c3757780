package v1

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 512), r.client.answerLimit()) // it grows with the events
	lines.Split(wholeLine)
	for lines.Scan() {
		event, err := r.decodeEvent(lines.Bytes())
		if err != nil {
			return sent.failed(err)
		}
		if !send(event) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return sent.failed(fmt.Errorf("cannot read the next event: %w", err))
	}
	return nil
}

// wholeLine is a bufio.SplitFunc for lines. One that has no end was cut.
func wholeLine(data []byte, atEOF bool) (int, []byte, error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}

// decodeEvent reads an event. That of an error is returned as the error.
func (r Resource[T]) decodeEvent(line []byte) (Event[T], error) {
	var read struct {
		Type   watch.EventType
		Object json.RawMessage
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return Event[T]{}, fmt.Errorf("cannot decode an event: %w", err)
	}
	if read.Type == watch.Error {
		var status metav1.Status
		if err := json.Unmarshal(read.Object, &status); err != nil {
			return Event[T]{}, fmt.Errorf("cannot decode an error: %w", err)
		}
		return Event[T]{}, apierrors.FromObject(&status)
	}
	event := Event[T]{read.Type, r.new()}
	if err := json.Unmarshal(read.Object, event.Object); err != nil {
		return Event[T]{}, fmt.Errorf("cannot decode an object: %w", err)
	}
	if kind := event.Object.GetObjectKind().GroupVersionKind().Kind; kind != r.kind {
		return Event[T]{}, fmt.Errorf("the object is of the kind %q, not %s", kind, r.kind)
	}
	return event, nil
}
