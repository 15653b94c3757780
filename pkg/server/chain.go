package server

import (
	"net/http"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/ui"
)

// Auth authenticates and authorizes the requests of a port. The insecure port has none.
type Auth struct {
	Authenticator authenticator.Request
	Authorizer    authorizer.Authorizer
}

// BuildHandlerChain returns the chain of handlers before the API. A request passes them from the last one here
// to the first. Today's server calls this DefaultBuildHandlerChain.
func BuildHandlerChain(c *Config, auth Auth) http.Handler {
	handler := http.Handler(http.HandlerFunc(filters.Serve))
	handler = filters.WithAuthorization(handler, auth.Authorizer)
	authorized := handler
	handler = filters.WithMaxInFlightLimit(handler, c.limits)
	if c.FlowControl != nil { // in its place
		handler = filters.WithPriorityAndFairness(authorized, c.FlowControl, c.limits, c.Metrics, c.RequestTimeout)
	}
	handler = filters.WithImpersonation(handler, auth.Authorizer)
	handler = filters.WithAudit(handler, c.Audit)
	handler = filters.WithAuthentication(handler, auth.Authenticator, c.Audit)
	handler = filters.WithPage(handler, ui.Path, c.Page)
	handler = filters.WithCrossOriginProtection(handler)
	handler = filters.WithCORS(handler, c.CORSAllowedOrigins)
	handler = filters.WithTimeout(handler, c.RequestTimeout, c.GetsWait)
	handler = filters.WithWaitGroup(handler, c.inFlight)
	handler = filters.WithAuditInit(handler, c.Audit)
	handler = filters.WithPanicRecovery(handler)
	handler = filters.WithMetrics(handler, c.Metrics)
	handler = filters.WithLogging(handler, c.silent)
	handler = filters.WithRequestInfo(c.Around(handler), c.Chain.servers())
	return handler
}
