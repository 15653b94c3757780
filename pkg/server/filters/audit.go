package filters

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube2014/pkg/audit"
	"kube2014/pkg/server/request"
)

// WithAuditInit lets each request be observed, and sends the client the id by which its lines are
// found: also if it is refused, or takes too long, before or after WithAudit.
func WithAuditInit(next http.Handler, auditor *audit.Auditor) http.Handler {
	if auditor == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		event := auditor.Begin(req)
		w.Header().Set(auditv1.HeaderAuditID, event.ID())
		request.RecordOf(req.Context()).Observer = event
		next.ServeHTTP(w, req)
	})
}

// WithAudit writes a line when a request comes in, and one when it is answered; of those that may
// take long, also one when the answer begins.
func WithAudit(next http.Handler, auditor *audit.Auditor) http.Handler {
	if auditor == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		record := request.RecordOf(req.Context())
		event := record.Observer.(*audit.Event)
		if !event.Decide(req, attributes(req, request.UserFrom(req.Context()))) {
			record.Observer = nil
			next.ServeHTTP(w, req)
			return
		}
		event.Write(auditv1.StageRequestReceived)
		answer := &audited{ResponseWriter: w, event: event, isLong: record.Info.Unlimited}
		returned := false
		defer func() { // without recover: the stack of a panic stays as it is
			if returned {
				answer.complete()
				return
			}
			event.Failed(http.StatusInternalServerError, metav1.StatusReasonInternalError, "the request failed; the server's log has the reason")
			event.Write(auditv1.StagePanic)
		}()
		next.ServeHTTP(answer, req)
		returned = true
	})
}

// WithFailedAuthenticationAudit writes the only line of a request that is refused because nobody
// knows who sends it.
func WithFailedAuthenticationAudit(refuse http.Handler, auditor *audit.Auditor) http.Handler {
	if auditor == nil {
		return refuse
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		event := request.RecordOf(req.Context()).Observer.(*audit.Event)
		if !event.Decide(req, attributes(req, nil)) {
			refuse.ServeHTTP(w, req)
			return
		}
		answer := &audited{ResponseWriter: w, event: event}
		refuse.ServeHTTP(answer, req)
		answer.report()
		event.Write(auditv1.StageResponseStarted)
	})
}

// audited is an answer that is audited.
type audited struct {
	http.ResponseWriter
	event     *audit.Event
	isLong    bool
	isStarted bool // it is written that the answer has begun
	keeps     bool // the body
	status    int  // 0 before it has begun
	body      []byte
}

func (r *audited) WriteHeader(status int) {
	r.begin(status)
	r.ResponseWriter.WriteHeader(status)
}

func (r *audited) begin(status int) {
	if r.status != 0 {
		return
	}
	r.status = status
	isStream := r.isLong && status < http.StatusBadRequest
	r.keeps = !isStream && r.event.Keeps(status)
	if isStream {
		r.report()
		r.start()
	}
}

func (r *audited) start() {
	r.isStarted = true
	r.event.Write(auditv1.StageResponseStarted)
}

func (r *audited) Write(piece []byte) (int, error) {
	r.begin(http.StatusOK)
	if r.keeps {
		r.body = append(r.body, piece...)
	}
	return r.ResponseWriter.Write(piece)
}

// FlushError implements what http.ResponseController looks for: a flush begins the answer.
func (r *audited) FlushError() error {
	r.begin(http.StatusOK)
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (r *audited) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// report reports to the event how the request was answered.
func (r *audited) report() {
	switch {
	case wasTooLate(r.ResponseWriter):
		r.event.Failed(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, tooLate)
	case r.status == 0: // net/http answers so
		r.event.Answered(http.StatusOK, "", nil)
	default:
		r.event.Answered(r.status, r.Header().Get("Content-Type"), r.body)
	}
}

// complete writes that the answer is complete. What is refused at once has begun then, too: how the
// request ended is known only now.
func (r *audited) complete() {
	r.report()
	if r.isLong && !r.isStarted {
		r.start()
	}
	r.event.Write(auditv1.StageResponseComplete)
}

// wasTooLate reports whether the client was sent that its time is over, instead of what is
// written to an answer.
func wasTooLate(w http.ResponseWriter) bool {
	for {
		switch answer := w.(type) {
		case *timedResponse:
			answer.mu.Lock()
			defer answer.mu.Unlock()
			return answer.over && !answer.begun
		case interface{ Unwrap() http.ResponseWriter }:
			w = answer.Unwrap()
		default:
			return false
		}
	}
}
