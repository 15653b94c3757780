package aggregation_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/compare/serverstest"
)

// load is clients that work until stop. It is safe for concurrent use.
type load struct {
	ctx     context.Context // ends when the load is stopped
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	created  map[string]bool // the objects of the sample server whose creation was acknowledged
	refused  map[string]int  // creations that failed, by the reason
	others   int             // requests to other groups that were answered
	slowest  time.Duration   // of these
	failures []string        // of these
	ends     int             // of watches that had begun
	seen     map[string]bool // objects that the watch has told
}

func newLoad(t *testing.T) *load {
	ctx, end := context.WithCancel(t.Context())
	l := &load{ctx: ctx, end: end, created: map[string]bool{}, refused: map[string]int{}, seen: map[string]bool{}}
	t.Cleanup(l.stop)
	return l
}

// each calls do again and again, until the load is stopped.
func (l *load) each(do func(i int)) {
	l.running.Go(func() {
		for i := 0; l.ctx.Err() == nil; i++ {
			do(i)
		}
	})
}

func (l *load) stop() {
	l.end()
	l.running.Wait()
}

// create begins to create objects at the sample server.
func (l *load) create(s *serverstest.Server, writer string) {
	l.each(func(i int) {
		name := fmt.Sprintf("%s-%d", writer, i)
		got, err := s.Try(serverstest.Request{Method: http.MethodPost, Path: atFlunders, Body: fmt.Appendf(nil, flunder, name, "")})
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case err != nil:
			l.refused["no answer"]++
		case got.Status == http.StatusCreated:
			l.created[name] = true
		default:
			l.refused[fmt.Sprint(got.Status)]++
		}
	})
}

// useOthers begins to use other groups, and discovery.
func (l *load) useOthers(s *serverstest.Server, writer string) {
	const atMaps = "/api/v1/namespaces/default/configmaps"
	l.each(func(i int) {
		name := fmt.Sprintf("%s-%d", writer, i)
		for _, r := range []serverstest.Request{
			{Method: http.MethodPost, Path: atMaps, Body: fmt.Appendf(nil, `{"metadata": {"name": %q}}`, name)},
			{Method: http.MethodPatch, Path: atMaps + "/" + name, ContentType: "application/merge-patch+json", Body: []byte(`{"data": {"a": "b"}}`)},
			{Method: http.MethodGet, Path: "/apis/apps/v1/deployments"},
			{Method: http.MethodGet, Path: "/apis", Accept: asOneList},
			{Method: http.MethodGet, Path: "/apis"},
			{Method: http.MethodGet, Path: "/readyz"},
			{Method: http.MethodDelete, Path: atMaps + "/" + name},
		} {
			begin := time.Now()
			got, err := s.Try(r)
			took := time.Since(begin)
			l.mu.Lock()
			if l.others++; err != nil || got.Status != http.StatusOK && got.Status != http.StatusCreated {
				l.failures = append(l.failures, fmt.Sprintf("%s %s: %d %s %v", r.Method, r.Path, got.Status, got.Body, err))
			}
			l.slowest = max(l.slowest, took)
			l.mu.Unlock()
		}
	})
}

// watch begins to follow the objects of the sample server: it watches on after the last event, also when a watch has ended.
func (l *load) watch(s *serverstest.Server) {
	last := "0"
	l.each(func(int) {
		path := atFlunders + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=600&resourceVersion=" + last
		begun := false
		_ = watch(l.ctx, s, path, func(e event) bool { // it ends with each server
			l.mu.Lock()
			defer l.mu.Unlock()
			begun = true
			switch e.Type {
			case "ERROR": // its past is not known any more
				last = "0"
				return false
			case "ADDED":
				l.seen[e.Object.Metadata.Name] = true
			}
			last = e.Object.Metadata.ResourceVersion
			return true
		})
		if l.mu.Lock(); begun && l.ctx.Err() == nil {
			l.ends++
		}
		l.mu.Unlock()
	})
}

// acknowledged returns how many objects have been acknowledged.
func (l *load) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.created)
}

// untilMore waits until the clients have created some more objects.
func (l *load) untilMore(t *testing.T, objects int) {
	before := l.acknowledged()
	serverstest.Eventually(t, "objects are created", func() bool { return l.acknowledged() >= before+objects })
}

// untilSeen waits until the watch has told all objects that were acknowledged until now.
func (l *load) untilSeen(t *testing.T) {
	l.mu.Lock()
	created := maps.Clone(l.created)
	l.mu.Unlock()
	serverstest.Eventually(t, "the watch tells all objects", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for name := range created {
			if !l.seen[name] {
				return false
			}
		}
		return true
	})
}

// lostNothing checks, when the load has stopped, that all that was acknowledged is there, and that no request to another group has failed.
func (l *load) lostNothing(t *testing.T, s *serverstest.Server) {
	there, lost := names(t, s, atFlunders), 0
	for name := range l.created {
		if !there[name] {
			lost++
		}
	}
	assert.Zero(t, lost, "objects are lost")
	assert.Empty(t, l.failures[:min(len(l.failures), 5)], "%d of the requests to other groups have failed", len(l.failures))
	t.Logf("%d objects created, %d lost; %v refused; %d requests to other groups, %d failed, the slowest took %d ms; watches ended %d times",
		len(l.created), lost, l.refused, l.others, len(l.failures), l.slowest.Milliseconds(), l.ends)
}

// event is one of a watch.
type event struct {
	Type   string
	Object struct {
		Message  string
		Metadata struct{ Name, ResourceVersion string }
	}
}

// watch calls seen with the events of a watch, until it or the context ends, or seen returns false.
func watch(ctx context.Context, s *serverstest.Server, path string, seen func(event) bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	answer, err := s.Client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the watch is answered with %d", answer.StatusCode)
	}
	for lines := bufio.NewReader(answer.Body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if !seen(e) {
			return nil
		}
	}
}
