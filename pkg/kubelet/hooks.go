package kubelet

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/prober"
	"kube2014/pkg/util"
)

// minStopGrace is what a container has at least to stop after its hook, however long that took.
const minStopGrace = 2 * time.Second

// hooks are those of a run of a container. Its worker's mutex guards them.
type hooks struct {
	ctx    context.Context // ends with the run
	end    context.CancelFunc
	killAt time.Time // when the container is killed; zero unless the hook before its stop runs
}

// startHooks runs the hook after the start of a container, if there is one. If that fails, the container is stopped.
func (w *podWorker) startHooks(c *container) {
	if c.Spec.Lifecycle == nil {
		return
	}
	h := &hooks{}
	h.ctx, h.end = context.WithCancel(w.k.running)
	c.hooks = h
	if c.Spec.Lifecycle.PostStart == nil {
		return
	}
	handler, run := c.Spec.Lifecycle.PostStart, c.Run
	w.k.probing.Go(func() {
		defer util.HandleCrash()
		err := runHook(h.ctx, run, handler)
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil && c.hooks == h && h.ctx.Err() == nil && !c.stopping {
			w.k.event(w.pod, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed")
			w.stop(c, w.grace(), "FailedPostStartHook")
		}
	})
}

// startPreStop runs the hook before the stop of a container, if there is one and time for it. The container is stopped
// when that has ended, and has what is left of its grace period then.
func (w *podWorker) startPreStop(c *container, grace time.Duration) {
	if c.Spec.Lifecycle == nil || c.Spec.Lifecycle.PreStop == nil || c.hooks == nil || grace <= 0 {
		return
	}
	h, handler, run := c.hooks, c.Spec.Lifecycle.PreStop, c.Run
	h.killAt = time.Now().Add(grace)
	w.k.probing.Go(func() {
		defer util.HandleCrash()
		ctx, cancel := context.WithTimeout(h.ctx, grace)
		defer cancel()
		err := runHook(ctx, run, handler)
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.hooks != h || h.killAt.IsZero() {
			return
		}
		if err != nil && ctx.Err() == nil && run.State().Phase == cri.Running { // a command ends with its container
			w.k.event(w.pod, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed")
		}
		run.Stop(max(time.Until(h.killAt), minStopGrace))
		h.killAt = time.Time{}
	})
}

// awaitsPreStop reports whether a container that should stop waits for its hook. A shorter grace period than it had
// ends that.
func (c *container) awaitsPreStop(grace time.Duration) bool {
	if c.hooks == nil || c.hooks.killAt.IsZero() {
		return false
	}
	if !time.Now().Add(grace).Before(c.hooks.killAt) {
		return true
	}
	c.hooks.killAt = time.Time{}
	c.hooks.end()
	return false
}

// endHooks ends the hooks of a run.
func (c *container) endHooks() {
	if c.hooks != nil {
		c.hooks.end()
		c.hooks = nil
	}
}

// runHook runs a hook: a command, or a pause. Others are ignored.
func runHook(ctx context.Context, run cri.Container, handler *corev1.LifecycleHandler) error {
	switch {
	case handler.Exec != nil:
		return prober.Exec(ctx, run, handler.Exec.Command)
	case handler.Sleep != nil:
		util.Sleep(ctx, time.Duration(handler.Sleep.Seconds)*time.Second)
	}
	return nil
}
