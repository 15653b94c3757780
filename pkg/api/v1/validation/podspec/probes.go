package podspec

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

func (c checks) hooksAndProbes(s *podSpec, ctr *corev1.Container, at *field.Path) {
	hook := func(at *field.Path, h corev1.LifecycleHandler) { c.handler(s, h, nil, at) }
	if hooks, at := ctr.Lifecycle, at.Child("lifecycle"); hooks != nil {
		check.IfSet(at.Child("postStart"), hooks.PostStart, hook)
		check.IfSet(at.Child("preStop"), hooks.PreStop, hook)
	}
	once := func(at *field.Path, p corev1.Probe) {
		c.probe(s, &p, at)
		c.InvalidIf(p.SuccessThreshold != 1, at.Child("successThreshold"), p.SuccessThreshold, "must be 1")
	}
	check.IfSet(at.Child("livenessProbe"), ctr.LivenessProbe, once)
	if p := ctr.ReadinessProbe; p != nil {
		c.probe(s, p, at.Child("readinessProbe"))
		c.InvalidIf(p.TerminationGracePeriodSeconds != nil, at.Child("readinessProbe", "terminationGracePeriodSeconds"), p.TerminationGracePeriodSeconds,
			"must not be set for readinessProbes")
	}
	check.IfSet(at.Child("startupProbe"), ctr.StartupProbe, once)
}

func (c checks) probe(s *podSpec, p *corev1.Probe, at *field.Path) {
	c.handler(s, corev1.LifecycleHandler{Exec: p.Exec, HTTPGet: p.HTTPGet, TCPSocket: p.TCPSocket}, p.GRPC, at)
	c.Nonnegative(at.Child("initialDelaySeconds"), int64(p.InitialDelaySeconds))
	c.Nonnegative(at.Child("timeoutSeconds"), int64(p.TimeoutSeconds))
	c.Nonnegative(at.Child("periodSeconds"), int64(p.PeriodSeconds))
	c.Nonnegative(at.Child("successThreshold"), int64(p.SuccessThreshold))
	c.Nonnegative(at.Child("failureThreshold"), int64(p.FailureThreshold))
	if grace := p.TerminationGracePeriodSeconds; grace != nil {
		c.InvalidIf(*grace <= 0, at.Child("terminationGracePeriodSeconds"), *grace, "must be greater than 0")
	}
}

// handler checks the action of a hook or, which may be by gRPC, of a probe.
func (c checks) handler(s *podSpec, h corev1.LifecycleHandler, grpc *corev1.GRPCAction, at *field.Path) {
	o := c.OneOf(at, "handler type")
	needs(c, o, "exec", h.Exec, "command")
	check.Option(o, "httpGet", h.HTTPGet, func(get *corev1.HTTPGetAction, at *field.Path) {
		c.Needs(at, "path", get.Path)
		c.Port(at.Child("port"), get.Port)
		check.Supported(c.Errors, at.Child("scheme"), get.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
		for _, header := range get.HTTPHeaders {
			c.Each(at.Child("httpHeaders"), header.Name, utilvalidation.IsHTTPHeaderName(header.Name))
		}
	})
	check.Option(o, "tcpSocket", h.TCPSocket, func(t *corev1.TCPSocketAction, at *field.Path) { c.Port(at.Child("port"), t.Port) })
	check.Option(o, "grpc", grpc, func(g *corev1.GRPCAction, at *field.Path) { c.Port(at.Child("port"), intstr.FromInt32(g.Port)) })
	check.Option(o, "sleep", h.Sleep, func(sleep *corev1.SleepAction, at *field.Path) {
		if grace := s.TerminationGracePeriodSeconds; grace != nil {
			c.InvalidIf(sleep.Seconds < 0 || sleep.Seconds > *grace, at, sleep.Seconds,
				fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))
		}
	})
	o.Needed("must specify a handler type")
}
