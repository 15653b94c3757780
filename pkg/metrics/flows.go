package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kube2014/pkg/util/fairqueuing"
)

// flowMetrics are about requests that wait for seats.
type flowMetrics struct {
	waited   *handles[flowKey, prometheus.Observer]
	executed *handles[flowKey, prometheus.Observer]
}

// flowKey is the key of requests of a flow schema: those that were served, or those that watch.
type flowKey struct {
	level, schema string
	is            bool
}

// waits are the buckets of the times of requests on a level, in seconds.
var waits = []float64{0, .005, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30}

func (m *Metrics) makeFlows() flowMetrics {
	waited := m.histogram("apiserver_flowcontrol_request_wait_duration_seconds", "Time that a request waited for its seats, in seconds, by whether it got them.", waits,
		"priority_level", "flow_schema", "execute")
	executed := m.histogram("apiserver_flowcontrol_request_execution_seconds", "Time that a request had its seats, in seconds; a watch has them until it has begun.", waits,
		"priority_level", "flow_schema", "type")
	return flowMetrics{
		makeHandles(func(k flowKey) prometheus.Observer {
			return waited.WithLabelValues(k.level, k.schema, strconv.FormatBool(k.is))
		}),
		makeHandles(func(k flowKey) prometheus.Observer {
			return executed.WithLabelValues(k.level, k.schema, map[bool]string{true: "watch", false: "regular"}[k.is])
		}),
	}
}

// Waited times how long a request has waited for its seats, or in vain.
func (m *Metrics) Waited(level, schema string, served bool, took time.Duration) {
	m.flows.waited.of(flowKey{level, schema, served}).Observe(took.Seconds())
}

// Executed times how long a request had its seats.
func (m *Metrics) Executed(level, schema string, isWatch bool, took time.Duration) {
	m.flows.executed.of(flowKey{level, schema, isWatch}).Observe(took.Seconds())
}

// ofLevels are the metrics of a level.
var ofLevels = []struct {
	name, help string
	of         func(fairqueuing.LevelState) float64
}{
	{"nominal_limit_seats", "Seats of a level by its shares.", func(l fairqueuing.LevelState) float64 { return float64(l.Nominal) }},
	{"lower_limit_seats", "Seats that a level does not lend.", func(l fairqueuing.LevelState) float64 { return float64(l.Least) }},
	{"upper_limit_seats", "Seats that a level may have with all that it may borrow.", func(l fairqueuing.LevelState) float64 { return float64(l.Most) }},
	{"current_limit_seats", "Seats that a level has now.", func(l fairqueuing.LevelState) float64 { return float64(l.Limit) }},
	{"demand_seats_high_watermark", "The largest number of seats that requests of a level had or waited for, in the last period.", func(l fairqueuing.LevelState) float64 { return float64(l.High) }},
	{"demand_seats_average", "The mean of that number, in the last period.", func(l fairqueuing.LevelState) float64 { return l.Average }},
	{"demand_seats_stdev", "The standard deviation of that number, in the last period.", func(l fairqueuing.LevelState) float64 { return l.Deviation }},
	{"demand_seats_smoothed", "That number, smoothed over all periods.", func(l fairqueuing.LevelState) float64 { return l.Smoothed }},
	{"target_seats", "Seats that a level should have.", func(l fairqueuing.LevelState) float64 { return l.Target }},
}

// ofFlows are the metrics of a flow schema.
var ofFlows = []struct {
	name, help string
	kind       prometheus.ValueType
	of         func(fairqueuing.FlowCounts) int
}{
	{"dispatched_requests_total", "Requests that got their seats.", prometheus.CounterValue, func(f fairqueuing.FlowCounts) int { return f.Dispatched }},
	{"current_inqueue_requests", "Requests that wait for their seats.", prometheus.GaugeValue, func(f fairqueuing.FlowCounts) int { return f.Waiting }},
	{"current_executing_requests", "Requests that have their seats.", prometheus.GaugeValue, func(f fairqueuing.FlowCounts) int { return f.Executing }},
	{"current_executing_seats", "Seats that requests have.", prometheus.GaugeValue, func(f fairqueuing.FlowCounts) int { return f.Seats }},
}

// ReadFlows sets the source of what the levels are doing.
func (m *Metrics) ReadFlows(read func() []fairqueuing.LevelState) {
	var all collect
	add := func(name, help string, labels ...string) *prometheus.Desc {
		desc := prometheus.NewDesc("apiserver_flowcontrol_"+name, help, labels, nil)
		all.descs = append(all.descs, desc)
		return desc
	}
	levels, flows := make([]*prometheus.Desc, len(ofLevels)), make([]*prometheus.Desc, len(ofFlows))
	for i, row := range ofLevels {
		levels[i] = add(row.name, row.help, "priority_level")
	}
	for i, row := range ofFlows {
		flows[i] = add(row.name, row.help, "priority_level", "flow_schema")
	}
	rejected := add("rejected_requests_total", "Requests that were refused their seats, by the reason.", "priority_level", "flow_schema", "reason")
	all.read = func(to chan<- prometheus.Metric) {
		for _, l := range read() {
			for i, row := range ofLevels {
				to <- prometheus.MustNewConstMetric(levels[i], prometheus.GaugeValue, row.of(l), l.Name)
			}
			for _, f := range l.Flows {
				for i, row := range ofFlows {
					to <- prometheus.MustNewConstMetric(flows[i], row.kind, float64(row.of(f)), l.Name, f.Name)
				}
				for reason, n := range f.Rejected {
					to <- prometheus.MustNewConstMetric(rejected, prometheus.CounterValue, float64(n), l.Name, f.Name, string(reason))
				}
			}
		}
	}
	m.registry.MustRegister(all)
}
