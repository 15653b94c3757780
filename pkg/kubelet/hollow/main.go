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
	log   *logBuffer
	input io.WriteCloser // nil if it takes none
	once  bool           // the input ends with that of the first client

	mu       sync.Mutex // guards what follows, and the lines of the outputs
	attached []*cri.Streams
}

// runLocked runs the container's own command. Its end is that of the container, unless an annotation tells that.
func (c *container) runLocked(endsContainer bool) {
	s, in := c.setup, c.insideLocked()
	m := &mainProcess{log: &c.log, once: s.once}
	out := &output{m: m, of: func(streams *cri.Streams) io.Writer { return streams.Stdout }}
	errs := &output{m: m, of: func(streams *cri.Streams) io.Writer { return streams.Stderr }}
	m.process = newProcess(in.ended, s.command, in, cri.Streams{Stdout: out, Stderr: errs})
	if s.tty {
		m.input = m.onTerminal()
	} else if s.stdin {
		r, w := io.Pipe()
		context.AfterFunc(m.ctx, func() { _ = r.Close() }) // who writes must not wait; it never fails
		m.stdin, m.input = r, w
	}
	if s.tty && !s.stdin {
		_ = m.input.Close() // it never fails
		m.input = nil
	}
	c.main = m
	go func() {
		defer util.HandleCrash()
		defer m.kill(nil)
		code := m.run()
		out.end()
		errs.end()
		if endsContainer {
			c.exit(code, "exited")
		}
	}()
}

// attach lets a client see what the command writes from now on, and give it input. It ends with the function
// that is returned.
func (m *mainProcess) attach(streams *cri.Streams) (detach func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attached = append(m.attached, streams)
	takes := streams.Stdin != nil && m.input != nil
	if takes {
		go take(m.input, streams.Stdin, m.once)
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

// take passes on what a client sends, until it ends, or its context.
func take(to io.WriteCloser, from io.Reader, closes bool) {
	defer util.HandleCrash()
	if _, err := io.Copy(to, from); err == nil && closes {
		_ = to.Close() // it never fails
	}
}

// output is where the command writes: to the log, and to the clients that are attached.
type output struct {
	m    *mainProcess
	of   func(*cri.Streams) io.Writer
	line []byte // that has not ended
}

// Write implements io.Writer. It waits for slow clients.
func (o *output) Write(text []byte) (int, error) {
	o.m.mu.Lock()
	o.addLocked(text)
	attached := slices.Clone(o.m.attached)
	o.m.mu.Unlock()
	for _, streams := range attached {
		if w := o.of(streams); w != nil {
			_, _ = w.Write(text) // the client has gone
		}
	}
	return len(text), nil
}

// addLocked adds lines to the log. A long one is several.
func (o *output) addLocked(text []byte) {
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		if room := maxLine - len(o.line); len(line) > room {
			line, rest, ended = text[:room], text[room:], true
		}
		o.line, text = append(o.line, line...), rest
		if ended {
			o.m.log.add(string(bytes.TrimSuffix(o.line, []byte("\r"))))
			o.line = o.line[:0]
		}
	}
}

// end adds a line that has not ended.
func (o *output) end() {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	if len(o.line) > 0 {
		o.addLocked([]byte("\n"))
	}
}
