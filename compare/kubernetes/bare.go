package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"kube2014/bench/measure"
)

// eventSize is about that of a pod's event at either side.
const eventSize = 2800

// bareServer passes the body of each POST on to all watchers, as an event of the usual size, and does nothing else: what events
// cost without a server.
type bareServer struct {
	mu       sync.Mutex // guards watchers
	watchers map[chan []byte]bool
}

func serveBare() error {
	listener, err := measure.Listen()
	if err != nil {
		return err
	}
	return http.Serve(listener, &bareServer{watchers: map[chan []byte]bool{}})
}

func (s *bareServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var pod json.RawMessage
	switch {
	case r.Method == http.MethodPost:
		if err := json.NewDecoder(r.Body).Decode(&pod); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.send(fmt.Appendf(nil, `{"type":"ADDED","object":%s,"padding":"%s"}`+"\n", pod, strings.Repeat("x", max(0, eventSize-len(pod)))))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "%s", pod)
	case r.URL.Query().Has("watch"):
		s.watch(w, r)
	default:
		fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"}}`)
	}
}

func (s *bareServer) send(event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for events := range s.watchers {
		events <- event
	}
}

func (s *bareServer) watch(w http.ResponseWriter, r *http.Request) {
	events := make(chan []byte, watchedPosts)
	s.mu.Lock()
	s.watchers[events] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, events)
		s.mu.Unlock()
	}()
	flusher := http.NewResponseController(w)
	_ = flusher.Flush()
	for {
		select {
		case event := <-events:
			_, _ = w.Write(event)
			_ = flusher.Flush()
		case <-r.Context().Done():
			return
		}
	}
}
