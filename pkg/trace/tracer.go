// Package trace narrates what happens to a request on its way through the
// layers. A Tracer makes a decorator for each interface between two layers; the
// program puts them where these interfaces meet. The code on either side does
// not know of it.
//
// A narration is lines of text: how long a call took, then, indented by its
// depth, what was called and what came back. A call that makes others has a line
// where it begins and one where it ends.
//
//	      POST /api/v1beta1/services to ApiServer.ServeHTTP
//	 31µs   ServiceRegistryStorage.Extract(92 bytes) → service "web"
//	        ServiceRegistryStorage.Create(service "web")
//	 12µs     MemoryRegistry.CreateService(service "web") → ok
//	 25µs   → ok
//	112µs → 200 OK, 93 bytes of application/json
//
// A decorator has the optional abilities of what it decorates, and no others; that
// of a task registry has all of them or none.
package trace

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tracer narrates what goes through its decorators. It is safe for concurrent
// use; requests and syncs are let through one at a time, so that their lines do
// not mix.
type Tracer struct {
	now func() time.Time

	turn sync.Mutex // held by the request, or the sync, that is narrated

	mu      sync.Mutex // guards what follows
	out     io.Writer
	open    []*call // the calls that have begun and not ended, the innermost last
	holding bool    // lines are held back: they may not be worth telling
	held    []byte
	changed bool // something was written since holding began
}

// call is a call that is narrated. Its line is written when it ends, or when it
// makes another call.
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

// begin notes that a call begins inside those that are open.
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

// end notes how a call ended. Only the first end of a call counts.
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
	_, _ = io.WriteString(t.out, line) // there is no other place to tell it
}

// change notes that something is about to be written to a registry or to etcd.
func (t *Tracer) change() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = true
}

// narrate narrates a call; outcome tells what it returned.
func narrate[Value any](t *Tracer, text string, outcome func(Value, error) string, f func() (Value, error)) (Value, error) {
	c := t.begin(text)
	result := "panic"
	defer func() { t.end(c, result) }()
	value, err := f()
	result = outcome(value, err)
	return value, err
}

// ask narrates a call that returns a value; words tells the value.
func ask[Value any](t *Tracer, text string, words func(Value) string, f func() (Value, error)) (Value, error) {
	return narrate(t, text, func(value Value, err error) string {
		if err != nil {
			return failure(err)
		}
		return words(value)
	}, f)
}

// tell narrates a call that returns nothing but an error.
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
