package endpoints

import (
	"bytes"
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"kube2014/pkg/api/conversion"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/endpoints/query"
	"kube2014/pkg/endpoints/stream"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// bookmarkPeriod is the time between two bookmarks.
const bookmarkPeriod = time.Minute

func (r *call) watch() error {
	storage, err := storageAs[rest.Watcher](r)
	if err != nil {
		return err
	}
	sent, options, err := query.WatchOptions(r.URL.Query(), r.info.Name)
	if err != nil {
		return err
	}
	if _, err := bodies.Read(r.W, r.Request); err != nil { // net/http detects a closed connection only after the body has been read
		return err
	}
	release, err := r.server.openStream()
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(r.Context(), r.server.watchTime(sent.TimeoutSeconds))
	defer cancel()
	watch, err := storage.Watch(ctx, r.info.Namespace, options)
	if err != nil {
		return err
	}
	defer watch.Stop()
	s := &watching{call: r, watch: watch, inProtobuf: r.Form.MediaType == bodies.Protobuf, bookmarks: sent.AllowWatchBookmarks, sent: func(int) {}}
	s.awaitBookmark(ctx)
	defer func() { s.cancel() }()
	if observe := r.server.WatchEvents; observe != nil {
		s.sent = observe(r.info.APIGroup, r.info.APIVersion, r.info.Resource)
	}
	if stream.IsWebSocket(r.Request) {
		var ok bool
		if s.out, ok = stream.Frames(r.W, r.Request, r.server.watchTimeout, s.inProtobuf, cancel); !ok {
			return nil // it has been answered
		}
	} else {
		r.WriteWarnings()
		s.out = stream.Lines(r.W, r.Request, r.server.watchTimeout, s.inProtobuf)
	}
	defer context.AfterFunc(r.server.watches.serving, func() {
		cancel()
		s.out.Limit()
	})()
	defer r.Resource.OnRemoval(cancel)()
	request.Begun(ctx)
	s.serve(ctx)
	return nil
}

// watching is a watch that is being served.
type watching struct {
	*call
	watch      *rest.Watch
	out        stream.Stream
	inProtobuf bool
	bookmarks  bool               // the client wants them
	due        context.Context    // ends when the next bookmark is due
	cancel     context.CancelFunc // of due
	sent       func(size int)     // is called for each event
	begun      bool               // an event has been sent
	parts      conversion.Parts   // of the last event
	head       []byte             // of the last event in protobuf; the slice is reused
}

// serve sends events until the context ends, or the client stops reading. Pending events are sent in any
// case.
func (s *watching) serve(ctx context.Context) {
	defer s.out.End()
	for {
		events, err := s.next(ctx)
		if err != nil && ctx.Err() == nil {
			status := s.StatusOf(err)
			events = []rest.Event{{Type: watch.Error, Object: rest.MakeAnswer(&status)}}
		}
		if s.send(events) != nil || err != nil || ctx.Err() != nil {
			return
		}
	}
}

// next waits for events, or until a bookmark is due.
func (s *watching) next(ctx context.Context) ([]rest.Event, error) {
	if !s.bookmarks {
		return s.watch.Next(ctx)
	}
	if s.due.Err() == nil || ctx.Err() != nil {
		events, err := s.watch.Next(s.due)
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return events, err
		}
	}
	s.cancel()
	s.awaitBookmark(ctx)
	return s.watch.Bookmark(), nil
}

// awaitBookmark begins the time to the next bookmark.
func (s *watching) awaitBookmark(ctx context.Context) {
	s.due, s.cancel = context.WithTimeout(ctx, bookmarkPeriod)
}

// send writes events, and flushes them.
func (s *watching) send(events []rest.Event) error {
	for _, event := range events {
		if event.Type == watch.Bookmark && !s.bookmarks {
			continue
		}
		if err := s.writeEvent(event); err != nil {
			return err
		}
	}
	return s.out.Flush()
}

// The text around the object of an event, whose body ends with a line break.
var (
	beforeObject = map[watch.EventType][]byte{
		watch.Added:    []byte(`{"type":"ADDED","object":`),
		watch.Modified: []byte(`{"type":"MODIFIED","object":`),
		watch.Deleted:  []byte(`{"type":"DELETED","object":`),
		watch.Bookmark: []byte(`{"type":"BOOKMARK","object":`),
		watch.Error:    []byte(`{"type":"ERROR","object":`),
	}
	newline     = []byte("\n")
	afterObject = []byte("}")
)

// writeEvent writes an event. The JSON of a stored object is shared by all watches.
func (s *watching) writeEvent(event rest.Event) error {
	err := s.assemble(event)
	if err != nil {
		return s.failed(err)
	}
	s.begun = true
	return s.writeParts()
}

// assemble sets the parts of an event.
func (s *watching) assemble(event rest.Event) (err error) {
	s.parts.Reset()
	if s.inProtobuf {
		s.parts.Add(nil) // the head comes when the size is known
		envelope, err := s.AddMessage(&s.parts, event.Object, false)
		if err != nil {
			return err
		}
		head, tail := v1.AppendEvent(s.head, string(event.Type), envelope, s.parts.Size(1))
		s.head, s.parts.All[0] = head, head
		s.parts.Add(tail)
		return nil
	}
	s.parts.Add(beforeObject[event.Type])
	if shared, ok := event.Object.(rest.Shared); ok && s.Form.As == "" {
		err = shared.AddJSON(&s.parts)
	} else {
		var body conversion.Encoded
		if body, err = s.Encode(event.Object, !s.begun); err == nil {
			s.parts.Add(bytes.TrimSuffix(body.Bytes(), newline))
		}
	}
	s.parts.Add(afterObject)
	return err
}

// failed returns the error of an event that could not be encoded, and tells the client: if the watch just ended, it would go on
// from there again and again. That is right only if there is another resource by now, which may know the version of the object.
func (s *watching) failed(err error) error {
	if s.Resource.Removed() {
		return err
	}
	status := s.StatusOf(err)
	if wrong := s.assemble(rest.Event{Type: watch.Error, Object: rest.MakeAnswer(&status)}); wrong == nil {
		_ = s.writeParts() // the watch ends in any case
	}
	return err
}

// writeParts writes an event.
func (s *watching) writeParts() error {
	err := s.out.Write(s.parts.All...)
	s.sent(s.parts.Size(0))
	return err
}
