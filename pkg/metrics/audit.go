package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Audit counts audited requests. It is safe for concurrent use.
type Audit struct {
	levels         *prometheus.CounterVec
	events, errors prometheus.Counter
}

func (m *Metrics) makeAudit() Audit {
	return Audit{
		levels: m.counter("apiserver_audit_level_total", "Requests by what the audit policy wants to be written of them.", "level"),
		events: m.counter("apiserver_audit_event_total", "Audit events that were made.").WithLabelValues(),
		errors: m.counter("apiserver_audit_error_total", "Audit events that were lost, because they could not be written.", "plugin").WithLabelValues("log"),
	}
}

// Audit returns the metrics of the audit.
func (m *Metrics) Audit() Audit { return m.audit }

// Level counts a request by its level: None, Metadata, Request or RequestResponse.
func (a Audit) Level(level string) {
	if !slices.Contains([]string{"None", "Metadata", "Request", "RequestResponse"}, level) {
		level = other
	}
	a.levels.WithLabelValues(level).Inc()
}

// Event counts an event.
func (a Audit) Event() { a.events.Inc() }

// Error counts a lost event.
func (a Audit) Error() { a.errors.Inc() }
