// Package lifecycle decides what to do with the containers of a pod, and computes the pod's status. It
// only computes: the caller owns all arguments.
package lifecycle

import (
	"slices"
	"time"

	"kube2014/pkg/kubelet/cri"

	corev1 "k8s.io/api/core/v1"
)

// Kind is what a container of a pod is for.
type Kind int

// The kinds.
const (
	InitContainer Kind = iota // ends before the next one starts
	Sidecar                   // an init container that runs on beside the others
	MainContainer
	EphemeralContainer // added to debug a pod: it runs once, as long as the others
)

// View is what decisions about a container depend on.
type View struct {
	Kind     Kind
	Phase    cri.Phase
	Failed   bool      // it has exited, and not with 0
	Restarts bool      // it has exited, and must run again
	Due      time.Time // of one that restarts: when it may
	Started  bool      // its startup probe, if it has one, has succeeded
	Ran      bool      // it has run before, and exited
	Blocked  string    // why it cannot be ready although it runs; empty for nothing
}

// letsOthersStart reports whether the containers after this one need not wait for it.
func (c View) letsOthersStart() bool {
	switch c.Kind {
	case InitContainer:
		return c.Phase == cri.Exited && !c.Failed
	case Sidecar:
		return c.Phase == cri.Running && c.Started
	}
	return true
}

// Plan is what to do with the containers of a pod, by their numbers.
type Plan struct {
	Start, Stop []int
	Wake        time.Time // when there may be more to do, though nothing changes until then
	Initialized bool      // the init containers are done
	Terminated  bool      // no container will run again
}

// MakePlan decides what to do with containers that should run: init containers one after the other,
// and then the others. Ephemeral ones wait for none.
func MakePlan(views []View, now time.Time) Plan {
	p := Plan{}
	for i, c := range views {
		if c.Kind == EphemeralContainer {
			p.run(i, c, now)
		}
	}
	if blocked := p.initialize(views, now); blocked {
		return p
	}
	p.Initialized = true
	done := true
	for i, c := range views {
		if c.Kind == MainContainer {
			p.run(i, c, now)
			done = done && c.Phase == cri.Exited && !c.Restarts
		}
	}
	if done {
		p.end(views)
	}
	return p
}

// initialize handles the init containers, and reports whether the others must wait. Once these have
// begun, they do not wait again for a sidecar.
func (p *Plan) initialize(views []View, now time.Time) (blocked bool) {
	begun := anyRan(views)
	for i, c := range views {
		switch {
		case c.Kind == MainContainer || c.Kind == InitContainer && begun:
		case c.Kind == Sidecar:
			p.run(i, c, now)
			if !begun && !c.letsOthersStart() {
				return true
			}
		case c.letsOthersStart():
		default:
			p.run(i, c, now)
			if c.Phase == cri.Exited && !c.Restarts {
				p.end(views)
			}
			return true
		}
	}
	return false
}

// run starts a container that should run but does not.
func (p *Plan) run(i int, c View, now time.Time) {
	switch {
	case c.Phase == "", c.Phase == cri.Exited && c.Restarts && !c.Due.After(now):
		p.Start = append(p.Start, i)
	case c.Phase == cri.Exited && c.Restarts && (p.Wake.IsZero() || c.Due.Before(p.Wake)):
		p.Wake = c.Due
	}
}

// end stops the sidecars, and the ephemeral containers: there is nothing left that they run beside.
func (p *Plan) end(views []View) {
	p.Start, p.Wake, p.Terminated = nil, time.Time{}, true
	for i, c := range views {
		if c.Phase == cri.Created || c.Phase == cri.Running {
			p.Stop, p.Terminated = append(p.Stop, i), false
		}
	}
}

// isInitialized reports whether the init containers are done.
func isInitialized(views []View) bool {
	return anyRan(views) || !slices.ContainsFunc(views, func(c View) bool { return !c.letsOthersStart() })
}

// EndPlan decides what to do with containers that must end.
func EndPlan(views []View) Plan {
	p := Plan{Initialized: isInitialized(views)}
	p.end(views)
	return p
}

// anyRan reports whether a main container was started.
func anyRan(views []View) bool {
	return slices.ContainsFunc(views, func(c View) bool { return c.Kind == MainContainer && c.Phase != "" })
}

// RestartsAfter reports whether a container runs again after it has exited.
func RestartsAfter(policy corev1.RestartPolicy, kind Kind, failed bool) bool {
	switch {
	case kind == EphemeralContainer:
		return false
	case kind == Sidecar:
		return true
	case policy == corev1.RestartPolicyNever:
		return false
	case policy == corev1.RestartPolicyOnFailure, kind == InitContainer:
		return failed
	}
	return true
}

// A container that exits is restarted at once. When it exits again, the pause begins with minBackOff and
// doubles up to maxBackOff. After a run of SteadyTime there is no pause.
const (
	minBackOff = 10 * time.Second
	maxBackOff = 5 * time.Minute
	SteadyTime = 10 * time.Minute
)

// NextBackOff returns the pause after one.
func NextBackOff(last time.Duration) time.Duration {
	if last == 0 {
		return minBackOff
	}
	return min(2*last, maxBackOff)
}
