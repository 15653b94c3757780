package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requestMetrics are about the requests to the server.
type requestMetrics struct {
	total, terminations *prometheus.CounterVec
	durations, sizes    *prometheus.HistogramVec
	longRunning         *prometheus.GaugeVec
	answered            *handles[answered, answers]
}

// labelNames are the names of the values of Labels.
var labelNames = []string{"verb", "group", "version", "resource", "subresource", "scope", "component"}

// answered is the key of requests with the same labels and status.
type answered struct {
	Labels
	status int
}

// answers are the series of requests with the same key.
type answers struct {
	total, terminations prometheus.Counter // terminations is nil unless the server protected itself
	durations, sizes    prometheus.Observer
}

func (m *Metrics) makeRequests() requestMetrics {
	r := requestMetrics{
		total: m.counter("apiserver_request_total", "Requests that were answered, by what they asked for and by the status of the answer.",
			with(labelNames, "dry_run", "code")...),
		terminations: m.counter("apiserver_request_terminations_total", "Requests that were ended by the server to protect itself: with 429 or 504.",
			with(labelNames, "code")...),
		durations: m.histogram("apiserver_request_duration_seconds", "Time to answer a request, in seconds; of a watch, the time until it ended.", latencies,
			with(labelNames, "dry_run")...),
		sizes: m.histogram("apiserver_response_sizes", "Sizes of the answers to requests that get or list, in bytes.", prometheus.ExponentialBuckets(1000, 10, 7),
			labelNames...),
		longRunning: m.gauge("apiserver_longrunning_requests", "Requests that may take as long as they like, and are being served.",
			labelNames...),
	}
	r.answered = makeHandles(r.resolve)
	return r
}

// with returns a copy of a list with more items.
func with(list []string, more ...string) []string { return append(slices.Clone(list), more...) }

func (r *requestMetrics) resolve(key answered) answers {
	code := strconv.Itoa(key.status)
	a := answers{total: r.total.WithLabelValues(with(key.valuesWithDryRun(), code)...), durations: r.durations.WithLabelValues(key.valuesWithDryRun()...)}
	if key.verb == "GET" || key.verb == "LIST" {
		a.sizes = r.sizes.WithLabelValues(key.values()...)
	}
	if key.status == http.StatusTooManyRequests || key.status == http.StatusGatewayTimeout {
		a.terminations = r.terminations.WithLabelValues(with(key.values(), code)...)
	}
	return a
}

// Answered counts an answered request. Size is that of the answer in bytes, took the handling time.
func (m *Metrics) Answered(l Labels, status int, size int64, took time.Duration) {
	a := m.requests.answered.of(answered{m.bounded(l), status})
	a.total.Inc()
	a.durations.Observe(took.Seconds())
	if a.sizes != nil {
		a.sizes.Observe(float64(size))
	}
	if a.terminations != nil {
		a.terminations.Inc()
	}
}

// LongRunning counts a request while it is served, until ended is called.
func (m *Metrics) LongRunning(l Labels) (ended func()) {
	gauge := m.requests.longRunning.WithLabelValues(m.bounded(l).values()...)
	gauge.Inc()
	return gauge.Dec
}

// ReadInFlight sets the source of the numbers of requests that are being served: those that only read, and those
// that change something.
func (m *Metrics) ReadInFlight(read func() (reads, changes int64)) {
	desc := prometheus.NewDesc("apiserver_current_inflight_requests",
		"Requests that are being served, without long-running ones and checks of the server's health.", []string{"request_kind"}, nil)
	m.registry.MustRegister(collect{[]*prometheus.Desc{desc}, func(to chan<- prometheus.Metric) {
		reads, changes := read()
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(reads), "readOnly")
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(changes), "mutating")
	}})
}

// WatchEvents returns a function that must be called with the size of each event of a watch, in bytes.
func (m *Metrics) WatchEvents(group, version, resource string) (sent func(size int)) {
	if !m.resources.names(group, resource) {
		group, version, resource = "", "", other
	}
	events, sizes := m.watchEvents.WithLabelValues(group, version, resource), m.eventSizes.WithLabelValues(group, version, resource)
	return func(size int) {
		events.Inc()
		sizes.Observe(float64(size))
	}
}

// collect is a collector of metrics that are read on each scrape.
type collect struct {
	descs []*prometheus.Desc
	read  func(to chan<- prometheus.Metric)
}

// Describe implements prometheus.Collector.
func (c collect) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c collect) Collect(to chan<- prometheus.Metric) { c.read(to) }
