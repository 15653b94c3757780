// Package trace prints what happens to a request in each layer. A Tracer makes
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
//	 12µs     MemoryRegistry.CreateService(service "web") → ok
//	 25µs   → ok
//	112µs → 200 OK, 93 bytes of application/json
//
// A decorator has the optional interfaces of what it decorates, and no others;
// that of a task registry has all of them or none.
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
// lines do not mix.
type Tracer struct {
	now func() time.Time

	turn sync.Mutex // held by the request or sync that is traced

	mu      sync.Mutex // guards what follows
	out     io.Writer
	open    []*call // the calls that have begun and not ended, the innermost last
	holding bool    // lines are held back until release
	held    []byte
	changed bool // something was written since holding began
}

// call is a traced call. Its line is written when it ends, or when it makes
// another call.
type call struct {
	text  string
	began time.Time
	told  bool
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
		if !outer.told {
			outer.told = true
			t.writeLocked("", depth, outer.text)
		}
	}
	c := &call{text: text, began: t.now()}
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
	case c.told && innermost:
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

// change records that something is about to be written to a registry or to etcd.
func (t *Tracer) change() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = true
}

// narrate traces a call; outcome describes what it returned.
func narrate[Value any](t *Tracer, text string, outcome func(Value, error) string, f func() (Value, error)) (Value, error) {
	c := t.begin(text)
	result := "panic"
	defer func() { t.end(c, result) }()
	value, err := f()
	result = outcome(value, err)
	return value, err
}

// ask traces a call that returns a value; words describes the value.
func ask[Value any](t *Tracer, text string, words func(Value) string, f func() (Value, error)) (Value, error) {
	return narrate(t, text, func(value Value, err error) string {
		if err != nil {
			return failure(err)
		}
		return words(value)
	}, f)
}

// tell traces a call that returns only an error.
func (t *Tracer) tell(text string, f func() error) error {
	_, err := ask(t, text, func(struct{}) string { return "ok" }, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// write is tell for a call that changes what is stored.
func (t *Tracer) write(text string, f func() error) error {
	t.change()
	return t.tell(text, f)
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
