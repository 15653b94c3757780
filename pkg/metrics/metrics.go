// Package metrics measures a server, and serves the metrics in Prometheus' format. Metrics of kube-apiserver
// have its names, labels and buckets; the names of all others begin with kube2014_.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/version"
)

// Metrics are the metrics of one server. They are safe for concurrent use, except the methods whose names begin
// with Read: call these before the first request.
type Metrics struct {
	registry *prometheus.Registry

	resources    bounded
	requests     requestMetrics
	watchEvents  *prometheus.CounterVec
	eventSizes   *prometheus.HistogramVec
	admission    admissionMetrics
	audit        Audit
	attempts     *prometheus.CounterVec // to authenticate
	decisions    *prometheus.CounterVec
	storeCalls   storeCallMetrics
	syncDuration prometheus.Observer
	syncErrors   prometheus.Counter
	flows        flowMetrics
}

// latencies are the buckets of the durations of requests, in seconds.
var latencies = []float64{.005, .025, .05, .1, .2, .4, .6, .8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}

// New returns the metrics of a server of a version.
func New(build version.Info) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.gauge("kubernetes_build_info", "Always 1; the labels say what was built, and how.",
		"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform").
		WithLabelValues(build.Major, build.Minor, build.GitVersion, build.GitCommit, build.GitTreeState, build.BuildDate, build.GoVersion, build.Compiler, build.Platform).Set(1)
	m.requests = m.makeRequests()
	m.watchEvents = m.counter("apiserver_watch_events_total", "Events that were sent to those who watch, with bookmarks.", "group", "version", "resource")
	m.eventSizes = m.histogram("apiserver_watch_events_sizes", "Sizes of the events that were sent to those who watch, in bytes.",
		prometheus.ExponentialBuckets(1024, 2, 8), "group", "version", "resource")
	m.admission = m.makeAdmission()
	m.audit = m.makeAudit()
	m.attempts = m.counter("authentication_attempts", "Requests at the secure port by whether their sender is known: success, failure or error.", "result")
	m.decisions = m.counter("authorization_attempts_total", "What was decided about requests and impersonations: allowed, denied, no-opinion or error.", "result")
	m.storeCalls = m.makeStoreCalls()
	m.flows = m.makeFlows()
	m.syncDuration = m.histogram("kube2014_endpoints_sync_duration_seconds", "Time to bring the endpoints of all services up to date, in seconds.",
		prometheus.ExponentialBuckets(.001, 2, 15)).WithLabelValues()
	m.syncErrors = m.counter("kube2014_endpoints_sync_errors_total", "Failures to bring the endpoints of all services up to date.").WithLabelValues()
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return promauto.With(m.registry).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return promauto.With(m.registry).NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return promauto.With(m.registry).NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}
