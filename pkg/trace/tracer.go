// Package trace prints the calls of a request in each layer. A Tracer returns
// decorators for the interfaces between the layers, and the program inserts
// them. The code on either side does not know of them.
//
// Each line has the time that a call took and, indented by its depth, the call
// and its result. A call that makes other calls has a line where it begins and
// one where it ends.
//
//	      POST /api/v1beta1/services to ApiServer.ServeHTTP
//	 31µs   ServiceRegistryStorage.Extract(92 bytes) → service "web"
//	        ServiceRegistryStorage.Create(service "web")
//	 12µs     Store.Commit(create service "web") → ok
//	 25µs   → ok
//	112µs → 200 OK, 93 bytes of application/json
package trace

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tracer traces the calls that go through its decorators. It is safe for
// concurrent use; it lets one request or sync through at a time, so that their
// lines do not mix. The decorators of a nil Tracer are what they decorate.
type Tracer struct {
	now func() time.Time

	turn sync.Mutex // held by the request or sync that is traced

	mu      sync.Mutex // guards what follows
	out     io.Writer
	open    []*call // the calls in progress, the innermost last
	holding bool    // lines are buffered until the sync ends
	held    []byte  // the buffered lines
	changed bool    // something was written to a store since holding began
}

// call is a traced call. Its line is written when it ends, or when it makes
// another call.
type call struct {
	text    string
	began   time.Time
	written bool // the line about its begin
}

// orNext returns a decorator, or the decorated value if the tracer is nil.
func orNext[T any](t *Tracer, next, decorator T) T {
	if t == nil {
		return next
	}
	return decorator
}

// New returns a tracer that writes to out, a line or several lines with each
// Write, one Write at a time. A line that cannot be written is lost.
func New(out io.Writer) *Tracer {
	return &Tracer{now: time.Now, out: out}
}

// begin begins a call inside those that are open.
func (t *Tracer) begin(text string) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	for depth, outer := range t.open {
		if !outer.written {
			outer.written = true
			t.writeLocked("", depth, outer.text)
		}
	}
	c := &call{text: cut(text, maxCall), began: t.now()}
	t.open = append(t.open, c)
	return c
}

// end ends a call. Only the first end of a call counts.
func (t *Tracer) end(c *call, result string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	took := inWords(t.now().Sub(c.began))
	depth := slices.Index(t.open, c)
	innermost := depth == len(t.open)-1
	switch {
	case depth < 0:
		return
	case c.written && innermost:
		t.writeLocked(took, depth, "→ "+result)
	default: // a call of another goroutine may have begun since: this one is named again
		t.writeLocked(took, depth, c.text+" → "+result)
	}
	t.open = slices.Delete(t.open, depth, depth+1)
}

// writeLocked writes a line. The caller holds mu.
func (t *Tracer) writeLocked(took string, depth int, text string) {
	line := fmt.Sprintf("%8s %s%s\n", took, strings.Repeat("  ", depth), oneLine(text))
	if t.holding {
		t.held = append(t.held, line...)
		return
	}
	_, _ = io.WriteString(t.out, line) // if it fails, nothing can report it
}

// traceValue traces a call that returns a value.
func traceValue[Value any](t *Tracer, text string, f func() (Value, error)) (Value, error) {
	c := t.begin(text)
	result := "panic"
	defer func() { t.end(c, result) }()
	value, err := f()
	if err != nil {
		result = cut(failure(err), maxResult)
	} else {
		result = cut(words(value), maxResult)
	}
	return value, err
}

// traceError traces a call that returns only an error.
func (t *Tracer) traceError(text string, f func() error) error {
	_, err := traceValue(t, text, func() (string, error) { return "ok", f() })
	return err
}

// Sync traces a periodic function, by its name in the code, but only if it
// tries to write to a store. It and requests wait for each other.
func (t *Tracer) Sync(name string, next func() error) func() error {
	if t == nil || next == nil {
		return next
	}
	return func() error {
		t.turn.Lock()
		defer t.turn.Unlock()
		t.hold(true)
		defer t.hold(false)
		return t.traceError(name+"()", next)
	}
}

// hold begins or ends the buffering of lines. At its end they are written if something was written to a
// store meanwhile.
func (t *Tracer) hold(holding bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed {
		_, _ = t.out.Write(t.held) // as in writeLocked
	}
	t.holding, t.held, t.changed = holding, nil, false
}

// change records that something is about to be written to a store.
func (t *Tracer) change() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = true
}

// inWords rounds a time to three digits or so.
func inWords(took time.Duration) string {
	switch {
	case took < time.Millisecond:
		took = took.Round(time.Microsecond)
	case took < 100*time.Millisecond:
		took = took.Round(10 * time.Microsecond)
	case took < time.Second:
		took = took.Round(time.Millisecond)
	default:
		took = took.Round(10 * time.Millisecond)
	}
	return took.String()
}
