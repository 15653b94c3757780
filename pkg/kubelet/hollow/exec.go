package hollow

import (
	"context"
	"strings"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/util"
)

// Exec implements cri.Container.
func (c *container) Exec(ctx context.Context, command []string, streams cri.Streams) (int32, error) {
	in, _, err := c.enter()
	if err != nil {
		return 0, err
	}
	if !isKnown(command) {
		return 0, &cri.CommandError{Name: strings.Join(command[:min(len(command), 1)], "")}
	}
	p := newProcess(ctx, command, in, streams)
	defer p.kill(nil)
	defer context.AfterFunc(in.ended, func() { p.kill(nil) })()
	if streams.TTY {
		t := p.onTerminal()
		if streams.Stdin != nil {
			go take(t, streams.Stdin, true)
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
	case <-p.ctx.Done():
		return p.killedCode(), nil
	}
}

// enter returns what there is in a container that runs.
func (c *container) enter() (*inside, *mainProcess, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Phase != cri.Running {
		return nil, nil, cri.ErrNotRunning
	}
	return c.insideLocked(), c.main, nil
}

// Attach implements cri.Container.
func (c *container) Attach(ctx context.Context, streams cri.Streams) error {
	in, main, err := c.enter()
	switch {
	case err != nil:
		return err
	case main == nil:
		c.follow(newProcess(ctx, []string{"cat"}, in, streams), streams.TTY)
		return nil
	}
	defer main.attach(&streams)()
	select {
	case <-in.ended.Done():
	case <-ctx.Done():
	}
	return nil
}

// follow writes what is logged from now on to the output of a process that does not run.
func (c *container) follow(p *process, tty bool) {
	defer p.kill(nil)
	if tty {
		p.stdout = screen{p.stdout}
	}
	_, next, more := c.log.read(0)
	for more != nil {
		select {
		case <-more:
		case <-p.ctx.Done():
			return
		}
		var lines []cri.LogLine
		lines, next, more = c.log.read(next)
		for _, line := range lines {
			if p.print(line.Text+"\n") != 0 {
				return // the client has gone
			}
		}
	}
}
