package filters

import (
	"net/http"
	"time"

	"kube2014/pkg/metrics"
)

// WithMetrics counts and times each request, also one that the handlers after it refuse. One that
// takes too long counts when it is answered so, whether or not somebody still works on it.
func WithMetrics(next http.Handler, backend API, m *metrics.Metrics) http.Handler {
	if m == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		answer, ok := w.(*response)
		if !ok {
			answer = &response{ResponseWriter: w, start: time.Now()}
		}
		info := infoOf(answer, req, backend)
		labels := m.LabelsOf(info, req)
		if info.Unlimited {
			defer m.LongRunning(labels)()
		}
		defer count(m, labels, answer)
		next.ServeHTTP(answer, req)
	})
}

// count counts a request. An answer without a status has 200.
func count(m *metrics.Metrics, labels metrics.Labels, answer *response) {
	status := answer.status
	if status == 0 {
		status = http.StatusOK
	}
	m.Answered(labels, status, answer.size, answer.took())
}
