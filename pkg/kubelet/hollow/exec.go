package hollow

import (
	"context"
	"errors"
	"io"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/util"
)

// errInterrupted ends a command at whose terminal somebody has typed ^C.
var errInterrupted = errors.New("interrupted")

const interruptedCode = 130

// Exec implements cri.Container.
func (c *container) Exec(ctx context.Context, command []string, streams cri.Streams) (int32, error) {
	c.mu.Lock()
	if c.state.Phase != cri.Running {
		c.mu.Unlock()
		return 0, cri.ErrNotRunning
	}
	in := c.insideLocked()
	c.mu.Unlock()
	if !isKnown(command) {
		return 0, unknown(command)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(in.ended, func() { cancel(nil) })()
	p := newProcess(ctx, command, in)
	p.connect(streams)
	if streams.TTY {
		t := p.onTerminal(cancel)
		if streams.Stdin != nil {
			go func() {
				defer util.HandleCrash()
				defer t.Close()
				_, _ = io.Copy(t, streams.Stdin) // the client has gone
			}()
		}
	}
	ended := make(chan int32, 1)
	go func() {
		defer util.HandleCrash()
		ended <- p.run()
	}()
	select {
	case code := <-ended:
		return code, nil
	case <-ctx.Done():
		if context.Cause(ctx) == errInterrupted {
			return interruptedCode, nil
		}
		return killedCode, nil
	}
}

// connect connects a process with the streams that there are.
func (p *process) connect(streams cri.Streams) {
	if streams.Stdin != nil {
		p.stdin = streams.Stdin
	}
	if streams.Stdout != nil {
		p.stdout = streams.Stdout
	}
	if streams.Stderr != nil {
		p.stderr = streams.Stderr
	}
}

// Attach implements cri.Container.
func (c *container) Attach(ctx context.Context, streams cri.Streams) error {
	c.mu.Lock()
	if c.state.Phase != cri.Running {
		c.mu.Unlock()
		return cri.ErrNotRunning
	}
	in, main := c.insideLocked(), c.main
	c.mu.Unlock()
	if main == nil {
		c.follow(ctx, streams)
		return nil
	}
	defer main.attach(&streams)()
	select {
	case <-in.ended.Done():
	case <-ctx.Done():
	}
	return nil
}

// follow writes what is logged from now on.
func (c *container) follow(ctx context.Context, streams cri.Streams) {
	p := &process{}
	p.connect(streams)
	if p.stdout == nil {
		p.stdout = io.Discard
	}
	if streams.TTY {
		p.stdout = screen{p.stdout}
	}
	_, next, more := c.log.read(0)
	for more != nil {
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
		var lines []cri.LogLine
		lines, next, more = c.log.read(next)
		for _, line := range lines {
			if p.print(line.Text) != 0 {
				return // the client has gone
			}
		}
	}
}
