package server

import (
	"net/http"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/ui"
)

// Guards decide who gets in at a port. At the insecure port there are none.
type Guards struct {
	Authenticator authenticator.Request
	Authorizer    authorizer.Authorizer
}

// BuildHandlerChain puts the chain before the API: what stands last here is asked first.
// Today's server calls this DefaultBuildHandlerChain.
func BuildHandlerChain(c *Config, guards Guards) http.Handler {
	handler := http.Handler(c.API)
	handler = filters.WithAuthorization(handler, c.API, guards.Authorizer)
	handler = filters.WithMaxInFlightLimit(handler, c.API, c.limits)
	handler = filters.WithImpersonation(handler, c.API, guards.Authorizer)
	handler = filters.WithAudit(handler, c.Audit)
	handler = filters.WithAuthentication(handler, c.API, guards.Authenticator, c.Audit)
	handler = filters.WithPage(handler, ui.Path, c.Page)
	handler = filters.WithCrossOriginProtection(handler, c.API)
	handler = filters.WithCORS(handler, c.CORSAllowedOrigins)
	handler = filters.WithTimeout(handler, c.API, c.RequestTimeout, c.GetsWait)
	handler = filters.WithWaitGroup(handler, c.API, c.inFlight)
	handler = filters.WithAuditInit(handler, c.Audit)
	handler = filters.WithRequestInfo(handler, c.API, guards.Authenticator != nil || c.Audit != nil || c.NeedsInfo)
	handler = filters.WithPanicRecovery(handler, c.API)
	handler = filters.WithMetrics(handler, c.API, c.Metrics)
	handler = filters.WithLogging(handler)
	return handler
}
