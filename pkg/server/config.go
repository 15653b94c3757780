// Package server is the generic part of a server: its start and its end, its ports, and the handlers that
// a request passes. It knows none of the servers behind the handlers.
package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/waitgroup"

	"kube2014/pkg/audit"
	"kube2014/pkg/metrics"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/server/flowcontrol"
	"kube2014/pkg/server/healthz"
)

// Config configures a server. The option groups fill it in, and the assembly adds the chain.
type Config struct {
	Chain *Delegate    // the first delegate of the chain of servers
	Page  http.Handler // served to everybody at ui.Path, nil for none
	Mux   Mux          // serves the server's own paths; nil if they are not served

	Insecure *Serving // nil if the port is closed
	Secure   *Serving // nil if the port is closed
	Auth     Auth     // of the secure port
	// Loopback accepts the connections of parts in the same process, like the insecure port, whether that is
	// open or not; nil for none. Their requests are not logged.
	Loopback net.Listener

	Audit *audit.Auditor // of both ports, nil for none

	RequestTimeout     time.Duration        // of requests that are not long-running
	GetsWait           bool                 // GETs may block on another process, so they time out
	ReadTimeout        time.Duration        // to read a request
	WriteTimeout       time.Duration        // to answer one that keeps the limits of 2014, and changes nothing
	MaxReads           int                  // limit of concurrent requests that only read, at all ports; 0 for none
	MaxChanges         int                  // limit of all other concurrent requests; 0 for none
	FlowControl        *flowcontrol.Control // instead of both limits; nil for none
	DrainTimeout       time.Duration        // for requests in flight when the server ends
	ShutdownDelay      time.Duration        // between the failure of /readyz and the end of new connections
	CORSAllowedOrigins []*regexp.Regexp
	Profiling          bool

	Metrics *metrics.Metrics // served at /metrics; nil for none

	// BuildHandlerChain returns the chain of handlers. The default is the function of this name.
	BuildHandlerChain func(c *Config, auth Auth) http.Handler
	// Around decorates the handlers behind WithRequestInfo, for example with a trace. It may be nil.
	Around func(chain http.Handler) http.Handler
	// Listen opens a port. The default is net.Listen.
	Listen func(network, address string) (net.Listener, error)
	// Listening is called with the addresses when the ports are open. It may be nil.
	Listening func(insecure, secure net.Addr)

	silent   bool // requests are not logged
	inFlight *waitgroup.SafeWaitGroup
	limits   *filters.Limits
}

// Mux serves paths of the server.
type Mux interface {
	healthz.Mux
	HandlePrefix(prefix string, handler http.Handler)
}

// Serving is a port.
type Serving struct {
	Address string      // to listen on: HOST:PORT
	TLS     *tls.Config // nil for HTTP
}

// CompletedConfig is a Config without missing fields.
type CompletedConfig struct{ *Config }

// Complete sets missing fields to their defaults. It panics if there is an authorizer without an
// authenticator.
func (c *Config) Complete() CompletedConfig {
	if c.Auth.Authorizer != nil && c.Auth.Authenticator == nil {
		panic("server: there is an authorizer, but no authenticator")
	}
	if c.BuildHandlerChain == nil {
		c.BuildHandlerChain = BuildHandlerChain
	}
	if c.Listen == nil {
		c.Listen = net.Listen
	}
	if c.Around == nil {
		c.Around = func(chain http.Handler) http.Handler { return chain }
	}
	if c.limits == nil {
		c.inFlight = &waitgroup.SafeWaitGroup{}
		c.limits = filters.NewLimits(c.MaxReads, c.MaxChanges)
		if c.Metrics != nil {
			c.Metrics.ReadInFlight(c.limits.InFlight)
		}
	}
	return CompletedConfig{c}
}

// New returns a server.
func (c CompletedConfig) New() *Server {
	quiet := *c.Config
	quiet.silent = true
	quiet.limits, quiet.FlowControl = filters.NewLimits(0, 0), nil // a request may wait for what a part does
	return &Server{
		config:   c.Config,
		loopback: c.BuildHandlerChain(&quiet, Auth{}),
		insecure: c.BuildHandlerChain(c.Config, Auth{}),
		secure:   c.BuildHandlerChain(c.Config, c.Auth),
		ending:   make(chan struct{}),
		started:  make(chan struct{}),
		aborted:  make(chan struct{}),
	}
}
