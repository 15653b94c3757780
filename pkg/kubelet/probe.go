package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/prober"
	"kube2014/pkg/util"
)

// probe runs one of the probes of a container, as long as that runs. Its worker's mutex guards it.
type probe struct {
	w     *podWorker
	c     *container
	kind  cri.ProbeKind
	spec  *corev1.Probe
	timer *time.Timer
	tally tally
}

// tally counts equal results of a probe in a row.
type tally struct {
	last  bool
	count int32
}

// add adds a result, and reports whether the threshold is reached.
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

func orDefault(n, otherwise int32) int32 { return cmp.Or(max(n, 0), otherwise) }

// startProbes begins to probe a running container: with its startup probe only, until that has
// succeeded.
func (w *podWorker) startProbes(c *container, now time.Time) {
	if c.Spec.StartupProbe != nil && !c.Started {
		w.startProbe(c, cri.Startup, c.Spec.StartupProbe, now)
		return
	}
	w.startProbe(c, cri.Readiness, c.Spec.ReadinessProbe, now)
	w.startProbe(c, cri.Liveness, c.Spec.LivenessProbe, now)
}

func (w *podWorker) startProbe(c *container, kind cri.ProbeKind, spec *corev1.Probe, now time.Time) {
	if spec == nil {
		return
	}
	p := &probe{w: w, c: c, kind: kind, spec: spec}
	first := c.Run.State().StartedAt.Add(time.Duration(spec.InitialDelaySeconds) * time.Second)
	p.timer = time.AfterFunc(max(first.Sub(now), 0), p.run)
	c.probes = append(c.probes, p)
}

// stopProbes stops the probes of a container. The result of a running one is ignored.
func (c *container) stopProbes() {
	for _, p := range c.probes {
		p.timer.Stop()
	}
	c.probes = nil
}

// run runs the probe, and schedules the next one after its period.
func (p *probe) run() {
	defer util.HandleCrash()
	began := time.Now()
	target, isWanted := p.begin()
	if !isWanted {
		return
	}
	defer p.w.k.probing.Done()
	ctx, cancel := context.WithTimeout(p.w.k.running, time.Duration(orDefault(p.spec.TimeoutSeconds, 1))*time.Second)
	err := target.Probe(ctx, p.kind, p.spec)
	cancel()

	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if !p.isWantedLocked() {
		return
	}
	p.handle(err)
	if p.isWantedLocked() {
		period := time.Duration(orDefault(p.spec.PeriodSeconds, 10)) * time.Second
		p.timer.Reset(max(period-time.Since(began), 0))
	}
}

// begin returns the target, and whether the probe is still wanted. If so, the kubelet waits for it when
// it ends.
func (p *probe) begin() (prober.Target, bool) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if !p.isWantedLocked() {
		return prober.Target{}, false
	}
	if left := p.w.k.stop.Left(); left > 0 {
		p.timer.Reset(left)
		return prober.Target{}, false
	}
	p.w.k.probing.Add(1)
	return p.w.targetOf(p.c), true
}

// targetOf returns where a container is probed.
func (w *podWorker) targetOf(c *container) prober.Target {
	return prober.Target{Dial: w.k.Dial, Version: w.k.Version, Run: c.Run, Ports: c.Spec.Ports, IP: w.podIP(), OnHost: !w.ip.IsValid()}
}

// isWantedLocked reports whether the probe is still one of its container's.
func (p *probe) isWantedLocked() bool {
	return slices.Contains(p.c.probes, p)
}

// handle handles the result of a probe.
func (p *probe) handle(err error) {
	if err != nil {
		p.w.k.event(p.w.pod, corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe failed: %v", p.kind, err))
	}
	success := err == nil
	if !p.tally.add(success, p.spec) {
		return
	}
	switch {
	case p.kind == cri.Readiness:
		if p.c.Ready != success {
			p.c.Ready = success
			p.w.k.pods.Add(p.w.key)
		}
	case success && p.kind == cri.Startup:
		p.c.stopProbes()
		p.c.Started = true
		p.w.startProbes(p.c, time.Now())
		p.w.k.pods.Add(p.w.key)
	case !success && !p.c.stopping:
		p.failed()
	}
}

// failed restarts a container that is not alive.
func (p *probe) failed() {
	grace := p.w.grace()
	if own := p.spec.TerminationGracePeriodSeconds; own != nil {
		grace = inSeconds(*own)
	}
	p.w.stop(p.c, grace, fmt.Sprintf("Container %s failed %s probe, will be restarted", p.c.name, strings.ToLower(string(p.kind))))
}
