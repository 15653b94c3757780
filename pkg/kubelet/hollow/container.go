package hollow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
)

// The exit codes of what is killed, and of a command that is told to stop.
const (
	killedCode     = 137
	terminatedCode = 143
)

// container is a container that exists in memory.
type container struct {
	pod, node, name, image string
	ip                     string // the pod's, or else the machine's
	setup                  *setup
	uses                   cri.Usage // in each second
	ports                  []string  // the addresses to listen on
	paths                  paths     // of its probes
	changed                func()
	warn                   func(reason, message string)
	listen                 func(network, address string) (net.Listener, error)
	stopAfter              time.Duration
	log                    logBuffer

	mu     sync.Mutex // guards what follows
	state  cri.State
	health health
	timer  *time.Timer // of what it does next; nil if it does nothing by itself
	stopAt time.Time   // when it will have stopped by itself; zero without a Stop
	killAt time.Time   // when it is killed if it has not
	server *server
	in     *inside      // nil before the first use
	main   *mainProcess // nil if it has none
}

var _ cri.Container = (*container)(nil)

// newContainer returns a container that is not started. It has no reference to the pod, which may
// change often.
func newContainer(spec cri.Spec, listen func(network, address string) (net.Listener, error)) *container {
	return &container{
		pod: spec.Pod.Name, node: spec.Node, name: spec.Name, image: spec.Container.Image,
		ip: cmp.Or(spec.PodIP, spec.HostIP), setup: setupOf(spec),
		uses: usesOf(spec.Container), ports: addressesOf(spec), paths: pathsOf(spec.Container), listen: listen,
		changed: spec.Changed, warn: spec.Warn,
		health: readHealth(spec.Pod, spec.Name, spec.Warn),
		state:  cri.State{Phase: cri.Created, ID: idOf(spec), ImageID: imageIDOf(spec.Container.Image)},
	}
}

// State implements cri.Container.
func (c *container) State() cri.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Log implements cri.Container.
func (c *container) Log(from int) ([]cri.LogLine, int, <-chan struct{}) { return c.log.read(from) }

// start begins to run the container.
func (c *container) start(o orders) {
	c.mu.Lock()
	if c.state.Phase != cri.Created {
		c.mu.Unlock()
		return
	}
	c.say("started " + c.image)
	switch unknown := c.setup.unknown; {
	case unknown != "" && o.exitAfter >= 0:
		c.say(fmt.Sprintf("there is no %.40q here; the container exits after %v", unknown, o.exitAfter))
	case unknown != "":
		c.say(fmt.Sprintf("there is no %.40q here; the container runs until it is stopped", unknown))
	}
	for _, line := range o.log {
		c.log.add(line)
	}
	c.server = c.serve()
	c.state.Phase, c.state.StartedAt, c.state.PID = cri.Running, time.Now(), firstPID
	c.timer = nil
	if o.exitAfter >= 0 {
		c.timer = time.AfterFunc(o.exitAfter, func() { c.exit(o.exitCode, "exited") })
	}
	if c.setup.command != nil {
		c.runLocked(o.exitAfter < 0)
	}
	c.mu.Unlock()
	c.changed()
}

// say logs what the runtime does, unless the container has a command that writes the log.
func (c *container) say(what string) {
	if c.setup.command == nil {
		c.log.add("hollow: " + what)
	}
}

// firstPID is what a container's process has in its own namespace.
const firstPID = 1

// exit ends the container, if it has not ended.
func (c *container) exit(code int32, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exitLocked(code, how)
}

func (c *container) exitLocked(code int32, how string) {
	if c.state.Phase == cri.Exited {
		return
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.server != nil {
		c.server.close()
		c.server = nil
	}
	now := time.Now()
	if c.state.StartedAt.IsZero() {
		c.state.StartedAt = now
	}
	c.state.Phase, c.state.FinishedAt, c.state.ExitCode, c.state.PID, c.state.Blocked = cri.Exited, now, code, 0, ""
	c.say(fmt.Sprintf("%s with code %d", how, code))
	c.log.close()
	if c.in != nil {
		c.in.end()
	}
	c.changed()
}

// Stop implements cri.Container. Without a grace period the container has exited when it returns.
func (c *container) Stop(grace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Phase == cri.Exited {
		return
	}
	now := time.Now()
	killAt := now.Add(grace)
	if c.stopAt.IsZero() {
		c.stopAt, c.killAt = now.Add(c.stopAfter), killAt
		c.say("told to stop")
	} else if !killAt.Before(c.killAt) {
		return
	}
	c.killAt = killAt
	code, how, at := int32(0), "stopped", c.stopAt
	if c.main != nil {
		code = terminatedCode
	}
	if killAt.Before(at) || c.state.Phase == cri.Created {
		code, how, at = killedCode, "killed", killAt
	}
	if c.state.Phase == cri.Created || !at.After(now) {
		c.exitLocked(code, how)
		return
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(at.Sub(now), func() { c.exit(code, how) })
}

// Update implements cri.Container.
func (c *container) Update(pod *corev1.Pod) {
	read := readHealth(pod, c.name, c.warn)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health = read
}

var (
	errUnready   = errors.New("hollow: told to be unready")
	errUnhealthy = errors.New("hollow: told to be unhealthy")
)

// Probe implements cri.Container.
func (c *container) Probe(_ context.Context, kind cri.ProbeKind) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case kind == cri.Readiness && c.health.unready:
		return errUnready
	case kind != cri.Readiness && c.health.unhealthy:
		return errUnhealthy
	}
	return nil
}

// What a container uses that requests nothing. It is not 0: who reads metrics takes that for a container that is not measured yet.
const (
	defaultCPU    = .01
	defaultMemory = 10 << 20
)

// usesOf returns what a container uses in each second.
func usesOf(c *corev1.Container) cri.Usage {
	requests := c.Resources.Requests
	return cri.Usage{CPU: cmp.Or(requests.Cpu().AsApproximateFloat64(), defaultCPU), Memory: cmp.Or(requests.Memory().AsApproximateFloat64(), defaultMemory)}
}

// Usage implements cri.Container.
func (c *container) Usage(at time.Time) cri.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.state.Phase {
	case cri.Running:
		return cri.Usage{CPU: c.uses.CPU * max(0, at.Sub(c.state.StartedAt).Seconds()), Memory: c.uses.Memory}
	case cri.Exited:
		return cri.Usage{CPU: c.uses.CPU * c.state.FinishedAt.Sub(c.state.StartedAt).Seconds()}
	}
	return cri.Usage{}
}
