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
)

// The headers with the UIDs of what a request was classified as, in the form in which net/http keeps them.
const (
	headerFlowSchema    = "X-Kubernetes-Pf-Flowschema-Uid"
	headerPriorityLevel = "X-Kubernetes-Pf-Prioritylevel-Uid"
)

// longestWait bounds how long a request waits for its seats.
const longestWait = time.Minute

// WithPriorityAndFairness lets requests wait until their priority level has seats for them, and answers 429 if it will not have them
// soon. Long-running requests pass, but a watch has seats until it has begun. The limits only count here. Requests without a
// deadline wait as long as those with a timeout. The metrics may be nil.
func WithPriorityAndFairness(next http.Handler, control *flowcontrol.Control, limits *Limits, m *metrics.Metrics, timeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		record := request.RecordOf(ctx)
		isWatch := record.Info.IsResource && record.Info.Verb == "watch"
		if record.Info.Unlimited && !isWatch {
			next.ServeHTTP(w, req)
			return
		}
		wanted := attributes(req, request.UserFrom(ctx))
		class := control.Classify(&wanted)
		header := w.Header()
		header[headerFlowSchema], header[headerPriorityLevel] = class.SchemaUID, class.LevelUID
		arrived := time.Now()
		ticket, err := class.Wait(ctx, &wanted, control.WorkOf(&wanted, req), waitUntil(ctx, record.Received, timeout), record)
		begun := time.Now()
		if m != nil && class.Level.Spec.Exempt == nil {
			m.Waited(class.Level.Name, class.Schema.Name, err == nil, begun.Sub(arrived))
		}
		if err != nil {
			w.Header().Set("Retry-After", strconv.FormatInt(class.RetryAfter(), 10))
			fail(w, req, errTooMany)
			return
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
