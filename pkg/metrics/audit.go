package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// auditMetrics are about what is audited.
type auditMetrics struct {
	levels         *prometheus.CounterVec
	events, errors prometheus.Counter
}

func (m *Metrics) makeAudit() auditMetrics {
	return auditMetrics{
		levels: m.counter("apiserver_audit_level_total", "Requests by what the audit policy wants to be written of them.", "level"),
		events: m.counter("apiserver_audit_event_total", "Audit events that were made.").WithLabelValues(),
		errors: m.counter("apiserver_audit_error_total", "Audit events that were lost, because they could not be written.", "plugin").WithLabelValues("log"),
	}
}

// Audit counts what is audited.
func (m *Metrics) Audit() Audit { return Audit{&m.audit} }

// Audit counts what is audited. It is safe for concurrent use.
type Audit struct{ m *auditMetrics }

// Level counts a request of which something is to be written: None, Metadata, Request or
// RequestResponse.
func (a Audit) Level(level string) {
	if !slices.Contains([]string{"None", "Metadata", "Request", "RequestResponse"}, level) {
		level = other
	}
	a.m.levels.WithLabelValues(level).Inc()
}

// Event counts an event.
func (a Audit) Event() { a.m.events.Inc() }

// Error counts an event that is lost.
func (a Audit) Error() { a.m.errors.Inc() }
