package main

import (
	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/webhook"
	"kube2014/pkg/metrics"
	"kube2014/pkg/metrics/store"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/server"
	"kube2014/pkg/storage/etcd3"
)

// observeLayers lets the metrics see what is between the layers.
func (m *master) observeLayers(config *server.Config) {
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
	if m.second != nil {
		m.second.WatchEvents = m.metrics.WatchEvents
		m.second.Each(func(resource *rest.Resource) {
			m.metrics.Know(resource.GroupVersion.Group, resource.GroupVersion.Version, resource.Name)
		})
	}
	m.metrics.ReadStored(store.Cached(m.stores.objects))
	m.loops.syncEndpoints = m.metrics.EndpointSync(m.loops.syncEndpoints)
}

// decorators let the metrics, and a trace, see the calls to a store on etcd.
func (m *master) decorators(o *options.ServerRunOptions) decorators {
	return decorators{
		etcd2: func(client registry.EtcdClient) registry.EtcdClient {
			return m.tracer.EtcdClient(store.Etcd2(m.metrics, client))
		},
		etcd3: func(client etcd3.Client) etcd3.Client {
			return m.tracer.Etcd3Client(store.Etcd3(m.metrics, client, o.Etcd.Prefix))
		},
		store: m.tracer.Store,
	}
}
