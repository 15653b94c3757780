// Package cri is the interface between a kubelet and a container runtime. Today's is the CRI, over gRPC.
package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Runtime runs containers. It is safe for concurrent use.
type Runtime interface {
	// Version returns its name and version, such as docker://1.0.0.
	Version() string
	// Start creates a container and begins to start it. It does not wait: the container's state
	// shows the result.
	Start(spec Spec) Container
}

// Stopper is a Runtime that can stop its kubelet, so that people see what becomes of the pods of a machine that is
// silent.
type Stopper interface {
	// StoppedUntil returns until when a node says that its kubelet is to be stopped; zero for not. It is safe for
	// concurrent use.
	StoppedUntil(node *corev1.Node) time.Time
}

// Spec is what a container is started from. The objects are shared: nobody may change them.
type Spec struct {
	Pod       *corev1.Pod
	Container *corev1.Container // with the variables in its command expanded
	Name      string            // of the container; a task of 2014 may have some without one
	Init      bool              // it must end before others start
	Attempt   int32             // how often it was started before
	Node      string
	HostIP    string
	PodIP     string // empty if the pod has no address of its own

	Env     []string          // the environment of its commands, as NAME=value
	Files   map[string][]byte // what is mounted, by absolute paths; shared, too
	Folders map[string]Folder // likewise; files are mounted over them

	// Changed is called after each change of the state. It returns at once, and may be called while
	// locks are held.
	Changed func()
	// Warn reports a problem of a container that runs on: a word in CamelCase, and a sentence for
	// people. It returns at once.
	Warn func(reason, message string)
}

// Container is a container that was started once; started again, it is another one. It is safe for
// concurrent use.
type Container interface {
	State() State
	// Usage returns what the container uses at a time, which is now or was just before.
	Usage(at time.Time) Usage
	// Log returns the lines that were written from a number on; the first one has number 0, and old
	// ones may be gone. It also returns the number of the next line, and a channel that is closed
	// when there may be more, nil if no more will come.
	Log(from int) (lines []LogLine, next int, more <-chan struct{})
	// Stop begins to stop the container, and kills it when the grace period is over. Called again, it
	// can only shorten that.
	Stop(grace time.Duration)
	// Update reports a change of the pod that is not in its containers, such as in its annotations.
	Update(pod *corev1.Pod)
	// Probe runs a probe by gRPC. Of one by a command, it tells whether the runtime lets it fail anyway. Nil is
	// success.
	Probe(ctx context.Context, kind ProbeKind) error
	// Exec runs a command beside the container's own, and returns its exit code. A command that has not ended
	// when the context ends, or the container stops, is killed. The error is a *CommandError if it cannot be run,
	// or ErrNotRunning.
	Exec(ctx context.Context, command []string, streams Streams) (code int32, err error)
	// Attach gives input to the container's own command, if it takes some, and passes on what that writes from now
	// on, until the container stops or the context ends. The error is ErrNotRunning if it does not run.
	Attach(ctx context.Context, streams Streams) error
}

// Streams are those of a command; nil for one that there is not. Exec and Attach may leave one while it is being
// read or written: when they have returned, the caller ends what still waits there.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool // for a terminal, which shows what is typed, and has only Stdout
}

// ErrNotRunning is the error for a container that does not run.
var ErrNotRunning = errors.New("the container does not run")

// CommandError is the error for a command that cannot be run. It says so as today's runtimes do.
type CommandError struct{ Name string }

// Error implements error.
func (e *CommandError) Error() string {
	return fmt.Sprintf("exec: %q: executable file not found in $PATH", e.Name)
}

// Phase is how far a container has come. Empty is none that was started.
type Phase string

// The phases come in this order.
const (
	Created Phase = "created"
	Running Phase = "running"
	Exited  Phase = "exited"
)

// State is the state of a container.
type State struct {
	Phase      Phase
	ID         string // such as docker://0123abcd
	ImageID    string
	PID        int
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   int32
	Reason     string // why it has exited; empty for Completed or Error, as the exit code says
	Message    string
	Blocked    string // why it cannot be ready although it runs, for people; empty for nothing
}

// Usage is what a container uses.
type Usage struct {
	CPU    float64 // since its start, in seconds of one core
	Memory float64 // its working set, in bytes; 0 unless it runs
}

// LogLine is a line of a container's log, without its end.
type LogLine struct {
	Time time.Time
	Text string
}

// ProbeKind is what a probe is for.
type ProbeKind string

// The kinds of probes.
const (
	Readiness ProbeKind = "Readiness"
	Liveness  ProbeKind = "Liveness"
	Startup   ProbeKind = "Startup"
)

// ProbeAgent is how the user agent of a probe begins; the kubelet's version follows.
const ProbeAgent = "kube-probe/"

// Volume is a volume that the containers of a pod share, and write to. The zero value is an empty one. It is safe for
// concurrent use.
type Volume struct {
	once    sync.Once
	content any
}

// Content returns what the runtime keeps in the volume. It is made when it is first needed.
func (v *Volume) Content(empty func() any) any {
	v.once.Do(func() { v.content = empty() })
	return v.content
}

// Folder is a folder of a volume that a container mounts.
type Folder struct {
	Volume   *Volume
	Path     string // in the volume; empty for all of it
	ReadOnly bool
}
