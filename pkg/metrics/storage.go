package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// storeCallMetrics are about etcd.
type storeCallMetrics struct {
	durations     *prometheus.HistogramVec
	total, errors *prometheus.CounterVec
}

func (m *Metrics) makeStoreCalls() storeCallMetrics {
	labels := []string{"operation", "group", "resource"}
	return storeCallMetrics{
		durations: m.histogram("etcd_request_duration_seconds", "Time that a call to etcd took, in seconds.", latencies, labels...),
		total:     m.counter("etcd_requests_total", "Calls to etcd.", labels...),
		errors:    m.counter("etcd_request_errors_total", "Calls to etcd that it did not answer, or not with an answer that the store knows.", labels...),
	}
}

// StoreCall describes a call to a store.
type StoreCall struct {
	Operation       string // get, list, create, update or delete
	Group, Resource string // "" for none, or for several
}

// StoreCalled counts a call to a store.
func (m *Metrics) StoreCalled(c StoreCall, took time.Duration, failed bool) {
	if !m.resources.names(c.Group, c.Resource) {
		c.Group, c.Resource = "", other
	}
	m.storeCalls.durations.WithLabelValues(c.Operation, c.Group, c.Resource).Observe(took.Seconds())
	m.storeCalls.total.WithLabelValues(c.Operation, c.Group, c.Resource).Inc()
	if failed {
		m.storeCalls.errors.WithLabelValues(c.Operation, c.Group, c.Resource).Inc()
	}
}

// Stored describes the cached objects of a resource.
type Stored struct {
	Group, Resource string
	Objects         int
	Version         uint64 // of the cache
}

// ReadStored sets the source of the numbers about the cache, one for each resource.
func (m *Metrics) ReadStored(read func() []Stored) {
	labels := []string{"group", "resource"}
	count := prometheus.NewDesc("apiserver_resource_objects", "Objects that this server knows of, from its cache.", labels, nil)
	version := prometheus.NewDesc("apiserver_watch_cache_resource_version",
		"The version up to which the cache has seen all changes of a resource: the last 15 digits.", labels, nil)
	m.registry.MustRegister(collect{[]*prometheus.Desc{count, version}, func(to chan<- prometheus.Metric) {
		for _, s := range read() {
			to <- prometheus.MustNewConstMetric(count, prometheus.GaugeValue, float64(s.Objects), s.Group, s.Resource)
			to <- prometheus.MustNewConstMetric(version, prometheus.GaugeValue, float64(s.Version%1e15), s.Group, s.Resource)
		}
	}})
}

// EndpointSync times a function that brings the endpoints up to date.
func (m *Metrics) EndpointSync(next func() error) func() error {
	return func() error {
		start := time.Now()
		err := next()
		m.syncDuration.Observe(time.Since(start).Seconds())
		if err != nil {
			m.syncErrors.Inc()
		}
		return err
	}
}
