package filters

import (
	"net/http"

	"kube2014/pkg/metrics"
	"kube2014/pkg/server/request"
)

// WithMetrics counts and times each request, including those that the handlers after it refuse. A request that
// times out is counted at its timeout, even if its handler is still running.
func WithMetrics(next http.Handler, m *metrics.Metrics) http.Handler {
	if m == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		answer := recorded(w)
		info := &request.RecordOf(req.Context()).Info
		labels := metrics.LabelsOf(info, req)
		if info.NoTimeout {
			defer m.LongRunning(labels)()
		}
		defer func() { m.Answered(labels, answer.code(), answer.size, answer.took()) }()
		next.ServeHTTP(answer, req)
	})
}
