package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kube2014/pkg/admission"
)

// admissionMetrics are about plugins and webhooks of admission.
type admissionMetrics struct {
	plugins   *handles[pluginCall, prometheus.Observer]
	webhooks  *prometheus.HistogramVec
	requests  *prometheus.CounterVec
	rejected  *prometheus.CounterVec
	failOpens *prometheus.CounterVec
}

// pluginCall is the key of a plugin's calls with the same outcome.
type pluginCall struct {
	name      string
	operation admission.Operation
	step      admission.Step
	rejected  bool
}

func (m *Metrics) makeAdmission() admissionMetrics {
	durations := m.histogram("apiserver_admission_controller_admission_duration_seconds", "Time that an admission plugin took to decide, in seconds.",
		[]float64{.005, .025, .1, .5, 1, 2.5}, "name", "operation", "type", "rejected")
	return admissionMetrics{
		plugins: makeHandles(func(c pluginCall) prometheus.Observer {
			return durations.WithLabelValues(c.name, string(c.operation), string(c.step), strconv.FormatBool(c.rejected))
		}),
		webhooks: m.histogram("apiserver_admission_webhook_admission_duration_seconds", "Time that an admission webhook took to decide, in seconds.",
			[]float64{.005, .025, .1, .5, 1, 2.5, 10, 25}, "name", "type", "operation", "rejected"),
		requests: m.counter("apiserver_admission_webhook_request_total", "Calls of admission webhooks, by the status with which a request was refused, or 200.",
			"name", "type", "operation", "code", "rejected"),
		rejected: m.counter("apiserver_admission_webhook_rejection_count", "Requests that were refused because of an admission webhook, and why.",
			"name", "type", "operation", "error_type", "rejection_code"),
		failOpens: m.counter("apiserver_admission_webhook_fail_open_count", "Requests that were admitted although an admission webhook failed.", "name", "type"),
	}
}

// Admission times a call of a plugin, as the Around of an admission.Chain.
func (m *Metrics) Admission(call admission.Call, next func() error) error {
	start := time.Now()
	err := next()
	m.admission.plugins.of(pluginCall{call.Plugin, call.Attributes.Operation, call.Step, err != nil}).Observe(time.Since(start).Seconds())
	return err
}

// WebhookCall is one call of an admission webhook. Its texts have few values: they come neither from
// clients nor from webhooks.
type WebhookCall struct {
	Name      string // of the webhook in the configuration
	Type      string // admit or validating
	Operation admission.Operation
	Took      time.Duration
	Rejected  bool   // the request was refused
	ErrorType string // no_error if the webhook refused it, else calling_webhook_error or apiserver_internal_error
	Code      int    // with which the request was refused, or the call failed; 200 for neither
	FailOpen  bool   // the webhook failed, and the request was admitted
}

// maxCode is the highest reported status: webhooks choose it.
const maxCode = 600

// Webhook counts a call of an admission webhook.
func (m *Metrics) Webhook(c WebhookCall) {
	operation, rejected, code := string(c.Operation), strconv.FormatBool(c.Rejected), strconv.Itoa(min(max(c.Code, 0), maxCode))
	m.admission.webhooks.WithLabelValues(c.Name, c.Type, operation, rejected).Observe(c.Took.Seconds())
	m.admission.requests.WithLabelValues(c.Name, c.Type, operation, code, rejected).Inc()
	if c.Rejected {
		m.admission.rejected.WithLabelValues(c.Name, c.Type, operation, c.ErrorType, code).Inc()
	}
	if c.FailOpen {
		m.admission.failOpens.WithLabelValues(c.Name, c.Type).Inc()
	}
}
