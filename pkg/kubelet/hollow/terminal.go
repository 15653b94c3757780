package hollow

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// What is typed at a terminal.
const (
	interruptKey = 'C' - '@'
	endKey       = 'D' - '@'
	eraseKey     = 0x7f
)

// maxTyped is how many lines wait for a command at most. More are lost.
const maxTyped = 64

// terminal turns what is typed into lines for a command, and shows it. It is safe for concurrent use by one
// reader and any number of writers.
type terminal struct {
	ctx       context.Context
	interrupt func()
	shown     io.Writer

	mu    sync.Mutex  // guards what follows
	lines chan []byte // nil is the end of the input
	typed []byte      // of the line

	rest []byte // of the line that is read
}

// onTerminal lets a process run on a terminal.
func (p *process) onTerminal(cancel context.CancelCauseFunc) *terminal {
	p.stdout = screen{p.stdout}
	p.stderr = p.stdout
	t := &terminal{ctx: p.ctx, interrupt: func() { cancel(errInterrupted) }, shown: p.stdout, lines: make(chan []byte, maxTyped)}
	p.stdin = t
	return t
}

// Write implements io.Writer: it types.
func (t *terminal) Write(keys []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var shown []byte
	for _, key := range keys {
		switch {
		case key == interruptKey:
			shown = append(shown, "^C\n"...)
			t.typed = nil
			t.interrupt()
		case key == endKey:
			t.enter()
		case key == eraseKey:
			if len(t.typed) > 0 {
				t.typed = t.typed[:len(t.typed)-1]
				shown = append(shown, "\b \b"...)
			}
		case key == '\r', key == '\n':
			shown = append(shown, '\n')
			t.typed = append(t.typed, '\n')
			t.enter()
		case len(t.typed) < maxLine:
			shown = append(shown, key)
			t.typed = append(t.typed, key)
		}
	}
	_, _ = t.shown.Write(shown) // nobody may look
	return len(keys), nil
}

// enter passes a line on. An empty one is the end.
func (t *terminal) enter() {
	select {
	case t.lines <- t.typed:
	default:
	}
	t.typed = nil
}

// Close implements io.Closer: nothing more is typed.
func (t *terminal) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.typed = nil
	t.enter()
	return nil
}

// Read implements io.Reader.
func (t *terminal) Read(to []byte) (int, error) {
	if len(t.rest) == 0 {
		select {
		case t.rest = <-t.lines:
		case <-t.ctx.Done():
		}
	}
	if len(t.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(to, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// screen begins each line at its left.
type screen struct{ to io.Writer }

// Write implements io.Writer.
func (s screen) Write(text []byte) (int, error) {
	if _, err := s.to.Write(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(text), nil
}
