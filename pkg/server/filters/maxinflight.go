package filters

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server/request"
)

// Limits bounds the number of concurrent requests. It is safe for concurrent use.
type Limits struct{ reads, changes limit }

// NewLimits returns limits for requests that only read, and for all others; 0 is no limit.
func NewLimits(reads, changes int) *Limits {
	return &Limits{limit{max: int64(reads)}, limit{max: int64(changes)}}
}

// InFlight returns the number of requests that are being served.
func (l *Limits) InFlight() (reads, changes int64) {
	return l.reads.inFlight.Load(), l.changes.inFlight.Load()
}

// of returns the limit for a request, nil for none.
func (l *Limits) of(info *request.RequestInfo) *limit {
	switch {
	case info.NoTimeout, !info.IsResource && isHealthCheck(info.Path):
		return nil
	case info.Verb == "get", info.Verb == "list", info.Verb == "head":
		return &l.reads
	}
	return &l.changes
}

type limit struct {
	max      int64 // 0 for none
	inFlight atomic.Int64
}

// errTooMany has the words of today's server.
var errTooMany = &api.Error{Kind: api.TooManyRequests, Message: "Too many requests, please try again later."}

// WithMaxInFlightLimit answers 429 if too many requests are being served. Long-running requests, such
// as watches, and health checks do not count. Requests of the group system:masters count, but are never
// refused, so that somebody can inspect a busy server. At the insecure port users have no groups, so
// all may be refused.
func WithMaxInFlightLimit(next http.Handler, limits *Limits) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		limit := limits.of(&request.RecordOf(req.Context()).Info)
		if limit == nil {
			next.ServeHTTP(w, req)
			return
		}
		if now := limit.inFlight.Add(1); limit.max > 0 && now > limit.max && !isMaster(req) {
			limit.inFlight.Add(-1)
			w.Header().Set("Retry-After", "1")
			fail(w, req, errTooMany)
			return
		}
		defer limit.inFlight.Add(-1)
		next.ServeHTTP(w, req)
	})
}

// isMaster reports whether an authenticated user is in system:masters.
func isMaster(req *http.Request) bool {
	record := request.RecordOf(req.Context())
	return record.User != nil && slices.Contains(record.User.Groups, user.Masters)
}

// isHealthCheck reports whether a path is that of a health check.
func isHealthCheck(path string) bool {
	for _, check := range []string{"/healthz", "/livez", "/readyz"} {
		if below, ok := strings.CutPrefix(path, check); ok && (below == "" || below[0] == '/') {
			return true
		}
	}
	return false
}
