package filters

import (
	"net/http"
	"time"

	"kube2014/pkg/metrics"
	"kube2014/pkg/server/request"
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
		info := backend.RequestInfo(req)
		labels := m.LabelsOf(&info, req)
		answer.load = loadOf(&info)
		if !backend.KeepsTime(req) {
			answer.info = kept(info)
		}
		if info.Unlimited {
			defer m.LongRunning(labels)()
		}
		defer count(m, labels, answer)
		next.ServeHTTP(answer, req)
	})
}

// kept returns what a request asks for so that it can be kept. For most requests nobody needs it
// any more, and an object more costs a GET a hundredth of its time.
func kept(info request.Info) *request.Info { return &info }

// count counts a request. An answer without a status has 200.
func count(m *metrics.Metrics, labels metrics.Labels, answer *response) {
	status := answer.status
	if status == 0 {
		status = http.StatusOK
	}
	m.Answered(labels, status, answer.size, answer.took())
}
