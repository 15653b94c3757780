package filters

import (
	"bufio"
	"net"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube2014/pkg/audit"
	"kube2014/pkg/server/request"
)

// WithAuditInit creates the audit event of each request, and sends the client its id. It does so even if
// another filter refuses the request, or it times out.
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

// WithAudit writes a line when a request is received, and one when it has been answered; for a long-running
// request also one when the answer begins.
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
		answer := &audited{ResponseWriter: w, event: event, isLong: record.Info.NoTimeout}
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

// WithFailedAuthenticationAudit writes the only line of a request whose user could not be authenticated.
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

// audited is an audited answer.
type audited struct {
	http.ResponseWriter
	event     *audit.Event
	isLong    bool // the request is long-running
	isStarted bool // the line about the begin of the answer is written
	keeps     bool // the event includes the body
	status    int  // 0 until the answer begins
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

// Hijack implements what http.ResponseController looks for: the answer has begun when another protocol is spoken.
func (r *audited) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	connection, buffered, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil {
		r.begin(http.StatusSwitchingProtocols)
	}
	return connection, buffered, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *audited) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// report adds the answer to the event.
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

// complete writes the line about the complete answer. A long-running request that was refused gets the line
// about the begin of its answer first.
func (r *audited) complete() {
	r.report()
	if r.isLong && !r.isStarted {
		r.start()
	}
	r.event.Write(auditv1.StageResponseComplete)
}

// wasTooLate reports whether the client has received a timeout instead of the answer.
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
