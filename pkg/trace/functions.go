package trace

import "strings"

// Sync traces a periodic function, by its name in the code, but only when it
// tries to write something. Requests wait while it runs, and it waits for them.
func (t *Tracer) Sync(name string, next func() error) func() error {
	return func() error {
		t.turn.Lock()
		defer t.turn.Unlock()
		t.hold()
		defer t.release()
		return t.tell(name+"()", next)
	}
}

// Healthz traces what GET /healthz asks, by its name in the code.
func (t *Tracer) Healthz(name string, next func() ([]string, error)) func() ([]string, error) {
	words := func(warnings []string) string { return strings.Join(append([]string{"ok"}, warnings...), "; ") }
	return func() ([]string, error) { return ask(t, name+"()", words, next) }
}

func (t *Tracer) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holding, t.changed = true, false
}

// release writes the lines that were held back, if something was written
// meanwhile.
func (t *Tracer) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed {
		_, _ = t.out.Write(t.held) // as in writeLocked
	}
	t.holding, t.held = false, nil
}
