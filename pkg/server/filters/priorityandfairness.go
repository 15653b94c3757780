package filters

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"kube2014/pkg/metrics"
	"kube2014/pkg/server/flowcontrol"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util/fairqueuing"
)

// The headers with the UIDs of what a request was classified as, in the form in which net/http keeps them.
const (
	headerFlowSchema    = "X-Kubernetes-Pf-Flowschema-Uid"
	headerPriorityLevel = "X-Kubernetes-Pf-Prioritylevel-Uid"
)

// longestWait bounds how long a request waits for its seats.
const longestWait = time.Minute

// WithPriorityAndFairness lets requests wait until their priority level has seats for them, and answers 429 if it will not have them
// soon. Long-running requests pass, but a watch has seats until it has begun, and so has a connection that is upgraded elsewhere. The
// limits are not enforced, but count what is served. A request without a deadline waits as long as one with the timeout. The metrics may
// be nil.
func WithPriorityAndFairness(next http.Handler, control *flowcontrol.Control, limits *Limits, m *metrics.Metrics, timeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		record := request.RecordOf(ctx)
		isWatch := record.Info.IsResource && record.Info.Verb == "watch"
		if record.Info.IsLongRunning() && !isWatch {
			next.ServeHTTP(w, req)
			return
		}
		wanted := attributes(req, request.UserFrom(ctx))
		class := control.Classify(&wanted)
		header := w.Header()
		header[headerFlowSchema], header[headerPriorityLevel] = class.SchemaUID, class.LevelUID
		arrived := time.Now()
		until, waited := waitUntil(ctx, record.Received, timeout), false
		ticket, err := class.Wait(ctx, &wanted, fairqueuing.Request{Work: control.WorkOf(&wanted, req), Until: until, Details: record,
			OnWait: func() { waited = true; prolong(w, req, until) }})
		begun := time.Now()
		if m != nil && class.Level.Spec.Exempt == nil {
			m.Waited(class.Level.Name, class.Schema.Name, err == nil, begun.Sub(arrived))
		}
		if err != nil {
			refused := *errTooMany
			refused.RetryAfter = int(class.RetryAfter())
			header.Set("Retry-After", strconv.Itoa(refused.RetryAfter)) // at both doors
			fail(w, req, &refused)
			return
		}
		if waited && req.ContentLength != 0 { // now it has its seats while it is read
			_ = http.NewResponseController(w).SetReadDeadline(begun.Add(readTime))
		}
		if count := limits.of(&record.Info); count != nil {
			count.inFlight.Add(1)
			defer count.inFlight.Add(-1)
		}
		done := func() {
			ticket.Done()
			if m != nil {
				m.Executed(class.Level.Name, class.Schema.Name, isWatch, time.Since(begun))
			}
		}
		if isWatch {
			defer control.Watch(&wanted, req)()
		}
		if record.Info.NoTimeout {
			done = sync.OnceFunc(done)
			record.Begun = done
		}
		defer done()
		next.ServeHTTP(w, req)
	})
}

// waitUntil returns how long a request may wait: for a quarter of its time.
func waitUntil(ctx context.Context, received time.Time, timeout time.Duration) time.Time {
	if deadline, ok := ctx.Deadline(); ok {
		timeout = deadline.Sub(received)
	}
	return received.Add(min(timeout/4, longestWait))
}

// prolong lets the connection of a request wait: net/http would end it when the time to read the request, or to answer a short one, is over.
func prolong(w http.ResponseWriter, req *http.Request, until time.Time) {
	control, later := http.NewResponseController(w), until.Add(readTime)
	if req.ContentLength == 0 {
		later = time.Time{} // there is nothing to read
	}
	_ = control.SetReadDeadline(later) // a connection without deadlines needs none
	if _, ok := req.Context().Deadline(); !ok && (req.Method == http.MethodGet || req.Method == http.MethodHead) {
		_ = control.SetWriteDeadline(until.Add(readTime)) // the others have more
	}
}
