package master

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kube2014/pkg/aggregator"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/options"
	"kube2014/pkg/rest/apiregistration"
	"kube2014/pkg/server"
	"kube2014/pkg/server/healthz"
)

// discoveryTimeout is that of today's server.
const discoveryTimeout = 5 * time.Second

// createAggregatorServer creates the first delegate. It sends requests to other servers, and serves what is common to all servers of today's
// API: discovery and OpenAPI, the version, and the health of the chain.
func (m *Master) createAggregatorServer(next *server.Delegate) *server.Delegate {
	own := endpoints.New(m.Today, &m.aggregated)
	own.Handle("/version", server.Version(m.config.Version))
	own.Handle("/version/", server.Version(m.config.Version))
	services, rows := apiregistration.Resources(m.base())
	m.aggregator = aggregator.New(aggregator.Config{Endpoints: own, Services: services, Catalogs: m.catalogs, Reader: stored{m}, Resolve: m.resolve(),
		ServicesKind: m.row(corev1.SchemeGroupVersion, "services").StoredKind, SlicesKind: m.row(discoveryv1.SchemeGroupVersion, "endpointslices").StoredKind,
		EndpointsKind: m.row(corev1.SchemeGroupVersion, "endpoints").StoredKind,
		Certificate:   m.clientCertificate, Timeout: discoveryTimeout, Serving: m.serving, Around: m.tracer.Work("Aggregator")})

	delegate := &server.Delegate{Name: "aggregator", Server: m.aggregator, Next: next, Checks: []healthz.Check{healthz.Ping}}
	if !m.o.APIEnablement.Serves(options.APIServices) {
		return delegate
	}
	m.aggregated.Install(rows...)
	delegate.AddLoop(m.aggregator.Run)
	delegate.AddPostStartHook("kube-apiserver-autoregistration", hook(func(ctx context.Context) error {
		_, err := apiregistration.Register(ctx, services, apiregistration.OnStart, m.catalogs)
		return err
	}))
	if m.definitions != nil {
		delegate.AddLoop(func(ctx context.Context) {
			if m.definitions.WaitUntilFollowed(ctx) == nil {
				_ = untilDone(ctx, func() error { return apiregistration.Keep(ctx, services, &m.Extensions) })
			}
		})
	}
	return delegate
}
