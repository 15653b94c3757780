package master

import (
	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/webhook"
	"kube2014/pkg/metrics"
	"kube2014/pkg/metrics/store"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage/etcd3"
)

// observeLayers lets the metrics see what is between the layers.
func (m *Master) observeLayers() {
	config := m.generic
	config.Metrics = m.metrics
	config.Guards.Authenticator, config.Guards.Authorizer = m.metrics.Authenticator(config.Guards.Authenticator), m.metrics.Authorizer(config.Guards.Authorizer)
	if config.Audit != nil {
		config.Audit.Counters = m.metrics.Audit()
	}
	m.admission.Each(func(_ string, p admission.Interface) {
		webhook.Observe(p, func(call webhook.Call) { m.metrics.Webhook(metrics.WebhookCall(call)) })
	})
	for _, known := range knownAs {
		m.metrics.Know(known.APIGroup, known.ServedAs, known.Resource)
	}
	if m.Second != nil {
		m.Second.WatchEvents = m.metrics.WatchEvents
		m.Second.Each(func(resource *rest.Resource) {
			m.metrics.Know(resource.GroupVersion.Group, resource.GroupVersion.Version, resource.Name)
		})
	}
	m.metrics.ReadStored(store.Cached(m.Stores.Objects))
	m.Loops.SyncEndpoints = m.metrics.EndpointSync(m.Loops.SyncEndpoints)
}

// Decorators let the metrics, and a trace, see the calls to a store.
func (m *Master) Decorators() Decorators {
	return Decorators{
		Etcd2: func(client registry.EtcdClient) registry.EtcdClient {
			return m.tracer.EtcdClient(store.Etcd2(m.metrics, client))
		},
		Etcd3: func(client etcd3.Client) etcd3.Client {
			return m.tracer.Etcd3Client(store.Etcd3(m.metrics, client, m.o.Etcd.Prefix))
		},
		Store: m.tracer.Store,
	}
}
