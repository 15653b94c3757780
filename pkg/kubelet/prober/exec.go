package prober

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"kube2014/pkg/kubelet/cri"
)

// ExitError is the error of a command that has failed.
type ExitError struct {
	Code   int32
	Output string // the first 10 KiB
}

// Error implements error: as today, a probe tells what its command has written.
func (e *ExitError) Error() string { return e.Output }

// Exec runs a command in a container, until the context ends. The error is an *ExitError if the command has failed. One that
// the container does not have succeeds: a real container of the image would have it.
func Exec(ctx context.Context, run cri.Container, command []string) error {
	var out output
	code, err := run.Exec(ctx, command, cri.Streams{Stdout: &out, Stderr: &out})
	var missing *cri.CommandError
	switch {
	case errors.As(err, &missing):
		return nil
	case err != nil:
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("command timed out: %q", strings.Join(command, " "))
	case code != 0:
		return &ExitError{code, out.String()}
	}
	return nil
}

const maxOutput = 10 << 10

// output keeps the beginning of what is written. It is safe for concurrent use: a command that was killed may
// still write.
type output struct {
	mu   sync.Mutex // guards what follows
	text []byte
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, text[:min(len(text), maxOutput-len(o.text))]...)
	return len(text), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
