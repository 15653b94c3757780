package endpoints

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"kube2014/pkg/rest"
)

const (
	// maxWatchTime is the longest that a client may say. The server may not notice that a
	// client has gone that it has nothing to tell.
	maxWatchTime = time.Hour
	// bookmarkPeriod is how often a client is told of the version that it has seen.
	bookmarkPeriod = time.Minute
)

// watches are those that a server serves. It is safe for concurrent use.
type watches struct {
	serving context.Context // ends when they are to end
	endAll  context.CancelFunc
	open    atomic.Int64
}

func makeWatches() watches {
	serving, endAll := context.WithCancel(context.Background())
	return watches{serving: serving, endAll: endAll}
}

// EndWatches ends all watches at once, also those to come.
func (s *Server) EndWatches() { s.watches.endAll() }

// openWatch counts an answer without an end. It is over when release is called.
func (s *Server) openWatch() (release func(), err error) {
	if s.watches.open.Add(1) > s.MaxWatches {
		s.watches.open.Add(-1)
		return nil, apierrors.NewTooManyRequests("too many watches are open, please try again later", 1)
	}
	return func() { s.watches.open.Add(-1) }, nil
}

func (r *call) watch() error {
	storage, err := is[rest.Watcher](r)
	if err != nil {
		return err
	}
	asked, options, err := r.watchOptions()
	if err != nil {
		return err
	}
	if _, err := r.body(); err != nil { // as long as there is some, net/http does not tell that the client has gone
		return err
	}
	release, err := r.server.openWatch()
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(r.Context(), r.server.watchTime(asked.TimeoutSeconds))
	defer cancel()
	watch, err := storage.Watch(ctx, r.info.Namespace, options)
	if err != nil {
		return err
	}
	s := &stream{call: r, watch: watch, bookmarks: asked.AllowWatchBookmarks,
		nextBookmark: time.Now().Add(bookmarkPeriod), sent: func(int) {}}
	if observe := r.server.WatchEvents; observe != nil {
		s.sent = observe(r.info.APIGroup, r.info.APIVersion, r.info.Resource)
	}
	if isWebSocket(r.Request) {
		if s.out = r.acceptWebSocket(cancel); s.out == nil {
			return nil // it has been answered
		}
	} else {
		s.out = &lines{call: r, control: http.NewResponseController(r.w)}
	}
	defer context.AfterFunc(r.server.watches.serving, func() {
		cancel()
		s.out.limit()
	})()
	s.serve(ctx)
	return nil
}

// watchTime returns how long a watch takes of which the client says how long, or not: then
// not all that began together end together.
func (s *Server) watchTime(seconds *int64) time.Duration {
	if seconds == nil || *seconds == 0 {
		return s.MinWatchTime + rand.N(max(s.MinWatchTime, 1))
	}
	return time.Duration(min(*seconds, int64(maxWatchTime/time.Second))) * time.Second
}

// events carries the events of a watch to its client. A client that does not read fails a write after a
// while.
type events interface {
	begin() error
	write(parts ...[]byte) error // one event
	flush() error
	end()
	limit() // gives what is being written less time, for the server is ending; may be called concurrently
}

// stream is the answer to a watch.
type stream struct {
	*call
	watch        *rest.Watch
	out          events
	bookmarks    bool // the client wants them
	nextBookmark time.Time
	sent         func(size int) // is told of each event
	begun        bool           // an event has been sent
}

// serve sends events until the context ends, or the client does not read them. Those that
// there are already are sent in any case.
func (s *stream) serve(ctx context.Context) {
	defer s.out.end()
	if s.out.begin() != nil {
		return
	}
	for {
		events, err := s.next(ctx)
		if err != nil && ctx.Err() == nil {
			status := s.statusOf(err)
			events = []rest.Event{{Type: watch.Error, Object: rest.MakeAnswer(&status)}}
		}
		if s.send(events) != nil || err != nil || ctx.Err() != nil {
			return
		}
	}
}

// next waits for events, or until a bookmark is due.
func (s *stream) next(ctx context.Context) ([]rest.Event, error) {
	if !s.bookmarks {
		return s.watch.Next(ctx)
	}
	due, cancel := context.WithDeadline(ctx, s.nextBookmark)
	defer cancel()
	if due.Err() == nil || ctx.Err() != nil {
		events, err := s.watch.Next(due)
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return events, err
		}
	}
	s.nextBookmark = time.Now().Add(bookmarkPeriod)
	return s.watch.Bookmark(), nil
}

// send writes events, and flushes them.
func (s *stream) send(events []rest.Event) error {
	for _, event := range events {
		if event.Type == watch.Bookmark && !s.bookmarks {
			continue
		}
		if err := s.writeEvent(event); err != nil {
			return err
		}
	}
	return s.out.flush()
}

// What is written around the object of an event, whose body ends with a line break.
var (
	beforeObject = heads(watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error)
	newline      = []byte("\n")
	afterObject  = []byte("}\n")
)

func heads(types ...watch.EventType) map[watch.EventType][]byte {
	all := map[watch.EventType][]byte{}
	for _, happened := range types {
		all[happened] = []byte(`{"type":"` + string(happened) + `","object":`)
	}
	return all
}

// writeEvent writes an event. What is stored was encoded once for all who watch.
func (s *stream) writeEvent(event rest.Event) error {
	if shared, ok := event.Object.(rest.Shared); ok && s.form.as == "" {
		head, rest, err := shared.Parts()
		if err != nil {
			return s.failed(err)
		}
		return s.writeParts(event.Type, head, rest)
	}
	body, err := s.encode(event.Object, !s.begun)
	if err != nil {
		return s.failed(err)
	}
	s.begun = true
	return s.writeParts(event.Type, bytes.TrimSuffix(body.Bytes(), newline))
}

// failed logs why an event could not be encoded.
func (s *stream) failed(err error) error {
	s.logError(err)
	return err
}

// writeParts writes an event whose object is given as parts of its JSON.
func (s *stream) writeParts(happened watch.EventType, object ...[]byte) error {
	parts := append(append(append(make([][]byte, 0, 4), beforeObject[happened]), object...), afterObject)
	err := s.out.write(parts...)
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	s.sent(size)
	return err
}
