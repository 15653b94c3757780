package measure

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	patience = time.Minute          // with a server that does not get ready, or does not end
	pause    = 2 * time.Millisecond // between two tries
)

// Process is a server that runs.
type Process struct {
	Server
	Ready time.Duration // from the start to the first 200 of /readyz
	Stop  func()
}

// Start starts a program on a free port, and returns when it is ready. It is stopped at the
// end of the run, if not before. The headers go with each question whether it is ready.
func (p *Process) Start(r *Run, program string, args []string, portFlag string, headers ...string) error {
	port, err := FreePort()
	if err != nil {
		return err
	}
	log, err := os.CreateTemp(r.Dir, "log")
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, append([]string{portFlag, port}, args...)...)
	cmd.Stderr = log
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the log tells why it ended
		close(ended)
	}()
	p.Address, p.PID = net.JoinHostPort("127.0.0.1", port), cmd.Process.Pid
	p.Stop = sync.OnceFunc(func() { stop(cmd, ended) })
	r.AtEnd(p.Stop)
	if err := p.untilReady(begin, ended, Request("GET", "/readyz", nil, headers...)); err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%s does not get ready: %w: %s", program, err, lastLines(string(text)))
	}
	p.Ready = time.Since(begin)
	return nil
}

func stop(cmd *exec.Cmd, ended chan struct{}) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-ended:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-ended
	}
}

// ErrEnded is the error of a process that ends before it is ready.
var ErrEnded = errors.New("it has ended")

// untilReady asks until the answer is 200, on one connection if it can: to shake hands
// again and again would slow the server down.
func (p *Process) untilReady(begin time.Time, ended chan struct{}, question []byte) error {
	var c *Conn
	for {
		var err error
		if c == nil {
			c, err = p.Dial()
		}
		if err == nil {
			_, err = c.Do(question, false)
			if err == nil {
				return c.Close()
			}
			if !errors.As(err, new(StatusError)) {
				c.Close()
				c = nil
			}
		}
		select {
		case <-ended:
			return ErrEnded
		case <-time.After(pause):
		}
		if time.Since(begin) > patience {
			return err
		}
	}
}

// lastLines is the end of a log.
func lastLines(log string) string { return log[max(0, len(log)-2000):] }
