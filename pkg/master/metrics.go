package master

import (
	"time"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/webhook"
	"kube2014/pkg/master/storemetrics"
	"kube2014/pkg/metrics"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest/networking"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
)

// observeLayers inserts the metrics between the layers.
func (m *Master) observeLayers() {
	config := m.generic
	config.Metrics = m.metrics
	config.Auth.Authenticator, config.Auth.Authorizer = m.metrics.Authenticator(config.Auth.Authenticator), m.metrics.Authorizer(config.Auth.Authorizer)
	if config.Audit != nil {
		config.Audit.Counters = m.metrics.Audit()
	}
	m.admission.Each(func(_ string, p admission.Interface) {
		webhook.Observe(p, func(call webhook.Call) { m.metrics.Webhook(metrics.WebhookCall(call)) })
	})
	m.metrics.ReadStored(m.observer().Cached(m.Stores.Objects))
	m.Loops.SyncEndpoints = m.metrics.EndpointSync(m.Loops.SyncEndpoints)
}

func (m *Master) observer() storemetrics.Observer {
	return storemetrics.Observer{Metrics: m.metrics, Catalogs: m.catalogs}
}

// Decorators returns the decorators that measure and trace the calls to a store, and give services what they need of it.
func (m *Master) Decorators() Decorators {
	return Decorators{
		Etcd2: func(client registry.EtcdClient) registry.EtcdClient {
			return m.tracer.EtcdClient(m.observer().Etcd2(client))
		},
		Etcd3: func(client etcd3.Client) etcd3.Client {
			return m.tracer.Etcd3Client(m.observer().Etcd3(client, m.o.Etcd.Prefix))
		},
		Store: func(store storage.Interface) storage.Interface {
			if ranges := m.o.Services.Ranges; ranges.Given() { // services get cluster IPs and node ports
				return networking.NewAllocator(m.tracer.Store(store), ranges, time.Now)
			}
			return m.tracer.Store(store)
		},
	}
}
