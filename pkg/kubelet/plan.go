package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// kind is what a container of a pod is for.
type kind int

const (
	initContainer kind = iota // ends before the next one starts
	sidecar                   // an init container that runs on beside the others
	mainContainer
)

// view is what is decided by about a container.
type view struct {
	kind     kind
	phase    Phase
	failed   bool      // it has exited, and not with 0
	restarts bool      // it has exited, and is to run again
	due      time.Time // of one that restarts: when it may
	started  bool      // its startup probe, if it has one, has succeeded
	ran      bool      // it has run before, and exited
}

// letsOthersStart reports whether the containers after it need not wait for it.
func (c view) letsOthersStart() bool {
	switch c.kind {
	case initContainer:
		return c.phase == Exited && !c.failed
	case sidecar:
		return c.phase == Running && c.started
	}
	return true
}

// plan is what is to be done with the containers of a pod, by their numbers.
type plan struct {
	start, stop []int
	wake        time.Time // when there may be more to do, though nothing changes until then
	initialized bool      // the init containers are done
	over        bool      // no container will run again
}

// makePlan decides what is to be done with containers that are to run: init containers one after
// the other, and then the others.
func makePlan(views []view, now time.Time) plan {
	p := plan{}
	blocked := p.initialize(views, now)
	if blocked {
		return p
	}
	p.initialized = true
	done := true
	for i, c := range views {
		if c.kind == mainContainer {
			p.run(i, c, now)
			done = done && c.phase == Exited && !c.restarts
		}
	}
	if done {
		p.end(views)
	}
	return p
}

// initialize goes through the init containers, and reports whether the others have to wait.
// Those that have begun do not wait again for a sidecar.
func (p *plan) initialize(views []view, now time.Time) (blocked bool) {
	begun := anyRan(views)
	for i, c := range views {
		switch {
		case c.kind == mainContainer || c.kind == initContainer && begun:
		case c.kind == sidecar:
			p.run(i, c, now)
			if !begun && !c.letsOthersStart() {
				return true
			}
		case c.letsOthersStart():
		default:
			p.run(i, c, now)
			p.over = c.phase == Exited && !c.restarts
			if p.over {
				p.end(views)
			}
			return true
		}
	}
	return false
}

// run starts a container that is to run and does not.
func (p *plan) run(i int, c view, now time.Time) {
	switch {
	case c.phase == "", c.phase == Exited && c.restarts && !c.due.After(now):
		p.start = append(p.start, i)
	case c.phase == Exited && c.restarts && (p.wake.IsZero() || c.due.Before(p.wake)):
		p.wake = c.due
	}
}

// end stops the sidecars: there is nothing left that they run beside.
func (p *plan) end(views []view) {
	p.start, p.wake, p.over = nil, time.Time{}, true
	for i, c := range views {
		if c.phase == Created || c.phase == Running {
			p.stop, p.over = append(p.stop, i), false
		}
	}
}

// isInitialized reports whether the init containers are done.
func isInitialized(views []view) bool {
	if anyRan(views) {
		return true
	}
	for _, c := range views {
		if !c.letsOthersStart() {
			return false
		}
	}
	return true
}

// endPlan decides what is to be done with containers that are to end.
func endPlan(views []view) plan {
	p := plan{initialized: isInitialized(views)}
	p.end(views)
	return p
}

// anyRan reports whether a main container was started.
func anyRan(views []view) bool {
	for _, c := range views {
		if c.kind == mainContainer && c.phase != "" {
			return true
		}
	}
	return false
}

// restartsAfter reports whether a container runs again after it has exited.
func restartsAfter(policy corev1.RestartPolicy, kind kind, failed bool) bool {
	switch {
	case kind == sidecar:
		return true
	case policy == corev1.RestartPolicyNever:
		return false
	case policy == corev1.RestartPolicyOnFailure, kind == initContainer:
		return failed
	}
	return true
}

const (
	// A container that exits is started again at once, when it does so again after a pause that
	// begins with minBackOff and doubles up to maxBackOff. One that has run for steadyTime is
	// started at once again.
	minBackOff = 10 * time.Second
	maxBackOff = 5 * time.Minute
	steadyTime = 10 * time.Minute
)

// nextBackOff returns the pause after one.
func nextBackOff(last time.Duration) time.Duration {
	if last == 0 {
		return minBackOff
	}
	return min(2*last, maxBackOff)
}
