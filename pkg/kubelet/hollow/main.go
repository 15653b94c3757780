package hollow

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/util"
)

// mainProcess is a container's own command, if it is one that is known.
type mainProcess struct {
	*process
	input io.WriteCloser // nil if it takes none
	once  bool           // the input ends with that of the first client

	mu       sync.Mutex // guards what follows
	attached []*cri.Streams
}

// runLocked runs the container's own command. Its end is that of the container, unless an annotation tells that.
func (c *container) runLocked(endsContainer bool) {
	s, in := c.setup, c.insideLocked()
	ctx, cancel := context.WithCancelCause(in.ended)
	m := &mainProcess{process: newProcess(ctx, s.command, in), once: s.once}
	out := &output{m: m, log: &c.log, of: func(streams *cri.Streams) io.Writer { return streams.Stdout }}
	err := &output{m: m, log: &c.log, of: func(streams *cri.Streams) io.Writer { return streams.Stderr }}
	m.stdout, m.stderr = out, err
	switch {
	case s.tty:
		t := m.onTerminal(cancel)
		if s.stdin {
			m.input = t
		} else {
			_ = t.Close() // it never fails
		}
	case s.stdin:
		r, w := io.Pipe()
		context.AfterFunc(ctx, func() { _ = r.Close() }) // who writes must not wait; it never fails
		m.stdin, m.input = r, w
	}
	c.main = m
	go func() {
		defer util.HandleCrash()
		defer cancel(nil)
		code := m.run()
		if context.Cause(ctx) == errInterrupted {
			code = interruptedCode
		}
		out.end()
		err.end()
		if endsContainer {
			c.exit(code, "exited")
		}
	}()
}

// attach lets a client see what the command writes from now on, and give it input. It ends with the function
// that is returned.
func (m *mainProcess) attach(streams *cri.Streams) (detach func()) {
	m.mu.Lock()
	m.attached = append(m.attached, streams)
	m.mu.Unlock()
	takes := streams.Stdin != nil && m.input != nil
	if takes {
		go func() {
			defer util.HandleCrash()
			_, err := io.Copy(m.input, streams.Stdin)
			if err == nil && m.once {
				_ = m.input.Close() // it never fails
			}
		}()
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.attached = slices.DeleteFunc(m.attached, func(s *cri.Streams) bool { return s == streams })
		if takes && m.once {
			_ = m.input.Close() // it never fails
		}
	}
}

// output is where the command writes: to the log, and to the clients that are attached. Only the command writes,
// and its terminal.
type output struct {
	m   *mainProcess
	log *logBuffer
	of  func(*cri.Streams) io.Writer

	mu   sync.Mutex // guards what follows
	line []byte     // that has not ended
}

// Write implements io.Writer. It waits for slow clients.
func (o *output) Write(text []byte) (int, error) {
	o.addLines(text)
	o.m.mu.Lock()
	attached := slices.Clone(o.m.attached)
	o.m.mu.Unlock()
	for _, streams := range attached {
		if w := o.of(streams); w != nil {
			_, _ = w.Write(text) // the client has gone
		}
	}
	return len(text), nil
}

func (o *output) addLines(text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(text) > 0 {
		part := text[:min(len(text), maxLine-len(o.line))]
		i := bytes.IndexByte(part, '\n')
		if i >= 0 {
			part = part[:i]
		}
		o.line, text = append(o.line, part...), text[len(part):]
		if i >= 0 {
			text = text[1:]
		}
		if i >= 0 || len(o.line) == maxLine {
			o.addLocked()
		}
	}
}

func (o *output) addLocked() {
	o.log.add(string(bytes.TrimSuffix(o.line, []byte("\r"))))
	o.line = o.line[:0]
}

// end adds a line that has not ended.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.line) > 0 {
		o.addLocked()
	}
}
