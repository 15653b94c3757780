package podspec

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// handler is the action of a probe or a hook.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func (c checks) hooksAndProbes(s *podSpec, ctr *corev1.Container, at *field.Path) {
	if hooks := ctr.Lifecycle; hooks != nil {
		if h := hooks.PostStart; h != nil {
			c.handler(s, handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep}, at.Child("lifecycle", "postStart"))
		}
		if h := hooks.PreStop; h != nil {
			c.handler(s, handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep}, at.Child("lifecycle", "preStop"))
		}
	}
	once := func(p *corev1.Probe, at *field.Path) {
		if p != nil {
			c.probe(s, p, at)
			c.InvalidIf(p.SuccessThreshold != 1, at.Child("successThreshold"), p.SuccessThreshold, "must be 1")
		}
	}
	once(ctr.LivenessProbe, at.Child("livenessProbe"))
	if p := ctr.ReadinessProbe; p != nil {
		c.probe(s, p, at.Child("readinessProbe"))
		c.InvalidIf(p.TerminationGracePeriodSeconds != nil, at.Child("readinessProbe", "terminationGracePeriodSeconds"), p.TerminationGracePeriodSeconds,
			"must not be set for readinessProbes")
	}
	once(ctr.StartupProbe, at.Child("startupProbe"))
}

func (c checks) probe(s *podSpec, p *corev1.Probe, at *field.Path) {
	c.handler(s, handler{p.Exec, p.HTTPGet, p.TCPSocket, p.GRPC, nil}, at)
	c.Nonnegative(at.Child("initialDelaySeconds"), int64(p.InitialDelaySeconds))
	c.Nonnegative(at.Child("timeoutSeconds"), int64(p.TimeoutSeconds))
	c.Nonnegative(at.Child("periodSeconds"), int64(p.PeriodSeconds))
	c.Nonnegative(at.Child("successThreshold"), int64(p.SuccessThreshold))
	c.Nonnegative(at.Child("failureThreshold"), int64(p.FailureThreshold))
	if grace := p.TerminationGracePeriodSeconds; grace != nil {
		c.InvalidIf(*grace <= 0, at.Child("terminationGracePeriodSeconds"), *grace, "must be greater than 0")
	}
}

func (c checks) handler(s *podSpec, h handler, at *field.Path) {
	o := c.OneOf(at, "handler type")
	check.Option(o, "exec", h.exec, func(e *corev1.ExecAction, at *field.Path) {
		c.Some(at.Child("command"), len(e.Command), "")
	})
	check.Option(o, "httpGet", h.http, func(get *corev1.HTTPGetAction, at *field.Path) {
		c.Needs(at, "path", get.Path)
		c.Port(at.Child("port"), get.Port)
		check.Supported(c.Errors, at.Child("scheme"), get.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
		for _, header := range get.HTTPHeaders {
			c.Each(at.Child("httpHeaders"), header.Name, utilvalidation.IsHTTPHeaderName(header.Name))
		}
	})
	check.Option(o, "tcpSocket", h.tcp, func(t *corev1.TCPSocketAction, at *field.Path) { c.Port(at.Child("port"), t.Port) })
	check.Option(o, "grpc", h.grpc, func(g *corev1.GRPCAction, at *field.Path) { c.Port(at.Child("port"), intstr.FromInt32(g.Port)) })
	check.Option(o, "sleep", h.sleep, func(sleep *corev1.SleepAction, at *field.Path) {
		if grace := s.TerminationGracePeriodSeconds; grace != nil {
			c.InvalidIf(sleep.Seconds < 0 || sleep.Seconds > *grace, at, sleep.Seconds,
				fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))
		}
	})
	o.Needed("must specify a handler type")
}
