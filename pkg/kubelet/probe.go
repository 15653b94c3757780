package kubelet

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/util"
)

// prober makes one of the probes of a container, as long as that runs. Its worker's mutex guards it.
type prober struct {
	w     *podWorker
	c     *container
	kind  ProbeKind
	probe *corev1.Probe
	timer *time.Timer
	tally tally
}

// tally counts the same results of probes in a row.
type tally struct {
	last  bool
	count int32
}

// add adds a result, and reports whether it counts: there have been enough of them.
func (t *tally) add(success bool, probe *corev1.Probe) bool {
	if success != t.last {
		t.count = 0
	}
	t.last = success
	t.count++
	if success {
		return t.count >= max(probe.SuccessThreshold, 1)
	}
	return t.count >= orDefault(probe.FailureThreshold, 3)
}

func orDefault(n, otherwise int32) int32 {
	if n <= 0 {
		return otherwise
	}
	return n
}

// startProbes begins to probe a container that runs. Until its startup probe has succeeded that is
// the only one.
func (w *podWorker) startProbes(c *container, now time.Time) {
	if c.spec.StartupProbe != nil && !c.started {
		w.startProbe(c, Startup, c.spec.StartupProbe, now)
		return
	}
	w.startProbe(c, Readiness, c.spec.ReadinessProbe, now)
	w.startProbe(c, Liveness, c.spec.LivenessProbe, now)
}

func (w *podWorker) startProbe(c *container, kind ProbeKind, probe *corev1.Probe, now time.Time) {
	if probe == nil {
		return
	}
	p := &prober{w: w, c: c, kind: kind, probe: probe}
	first := c.run.State().StartedAt.Add(time.Duration(probe.InitialDelaySeconds) * time.Second)
	p.timer = time.AfterFunc(max(first.Sub(now), 0), p.make)
	c.probes = append(c.probes, p)
}

// stopProbes stops the probes of a container. One that is made just now counts no more.
func (c *container) stopProbes() {
	for _, p := range c.probes {
		p.timer.Stop()
	}
	c.probes = nil
}

// make makes the probe, and the next one after its period.
func (p *prober) make() {
	defer util.HandleCrash()
	began := time.Now()
	target, isWanted := p.begin()
	if !isWanted {
		return
	}
	defer p.w.k.probing.Done()
	ctx, cancel := context.WithTimeout(p.w.k.running, time.Duration(orDefault(p.probe.TimeoutSeconds, 1))*time.Second)
	err := target.probe(ctx, p.kind, p.probe)
	cancel()

	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if !p.isWantedLocked() {
		return
	}
	p.note(err)
	if p.isWantedLocked() {
		period := time.Duration(orDefault(p.probe.PeriodSeconds, 10)) * time.Second
		p.timer.Reset(max(period-time.Since(began), 0))
	}
}

// begin returns what is to be probed, and whether it still is. Then the kubelet waits for the probe when it ends.
func (p *prober) begin() (target, bool) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if !p.isWantedLocked() {
		return target{}, false
	}
	p.w.k.probing.Add(1)
	return p.w.targetOf(p.c), true
}

// isWantedLocked reports whether the probe is still one of its container's.
func (p *prober) isWantedLocked() bool {
	return slices.Contains(p.c.probes, p)
}

// note notes the result of a probe.
func (p *prober) note(err error) {
	if err != nil {
		p.w.k.event(p.w.pod, corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe failed: %v", p.kind, err))
	}
	success := err == nil
	if !p.tally.add(success, p.probe) {
		return
	}
	switch {
	case p.kind == Readiness:
		if p.c.ready != success {
			p.c.ready = success
			p.w.k.pods.Add(p.w.key)
		}
	case success && p.kind == Startup:
		p.c.stopProbes()
		p.c.started = true
		p.w.startProbes(p.c, time.Now())
		p.w.k.pods.Add(p.w.key)
	case !success && !p.c.stopping:
		p.failed()
	}
}

// failed lets a container that is not alive start again.
func (p *prober) failed() {
	grace := p.w.grace()
	if own := p.probe.TerminationGracePeriodSeconds; own != nil {
		grace = inSeconds(*own)
	}
	what := "liveness"
	if p.kind == Startup {
		what = "startup"
	}
	p.w.stop(p.c, grace, fmt.Sprintf("Container %s failed %s probe, will be restarted", p.c.name, what))
}
