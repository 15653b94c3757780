package hollow

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// What is typed at a terminal.
const (
	interruptKey = 'C' - '@'
	endKey       = 'D' - '@'
	eraseKey     = 0x7f
)

// errInterrupted ends a command at whose terminal somebody has typed ^C.
var errInterrupted = errors.New("interrupted")

const interruptedCode = 130

// maxTyped is how many lines wait for a command at most. More are lost.
const maxTyped = 64

// terminal turns what is typed into lines for a command, and shows it. It is safe for concurrent use by one
// reader and any number of writers.
type terminal struct {
	p     *process
	lines chan []byte // an empty one is the end of the input
	rest  []byte      // of the line that is read

	mu    sync.Mutex // guards what follows
	typed []byte     // of the line
}

// onTerminal lets a process run on a terminal.
func (p *process) onTerminal() *terminal {
	p.stdout = screen{p.stdout}
	p.stderr = p.stdout
	t := &terminal{p: p, lines: make(chan []byte, maxTyped)}
	p.stdin = t
	return t
}

// Write implements io.Writer: it types.
func (t *terminal) Write(keys []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		shown := []byte{key}
		switch {
		case key == interruptKey:
			shown = []byte("^C\n")
		case key == endKey:
			shown = nil
			t.enter()
		case key == eraseKey:
			shown = []byte("\b \b")[:3*min(len(t.typed), 1)]
			t.typed = t.typed[:max(len(t.typed)-1, 0)]
		case key == '\r', key == '\n':
			shown = []byte("\n")
			t.typed = append(t.typed, '\n')
			t.enter()
		case len(t.typed) < maxLine:
			t.typed = append(t.typed, key)
		}
		if len(shown) > 0 {
			_, _ = t.p.stdout.Write(shown) // nobody may look
		}
		if key == interruptKey { // only now: the output ends with the command
			t.p.kill(errInterrupted)
		}
	}
	return len(keys), nil
}

// enter passes a line on.
func (t *terminal) enter() {
	select {
	case t.lines <- t.typed:
	default:
	}
	t.typed = nil
}

// Close implements io.Closer: it types an end.
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
		case <-t.p.ctx.Done():
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
