// Package server is what is around the API: how a server starts, which handlers a request
// passes, on which ports it listens, and how it ends. It knows none of the servers behind the handlers.
package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"regexp"
	"time"

	"kube2014/pkg/audit"
	"kube2014/pkg/metrics"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/server/healthz"
)

// Config is what a server is made of. The option groups fill it in, and the assembly adds the chain.
type Config struct {
	Chain *Link        // of servers, the first one
	Page  http.Handler // served to everybody at ui.Path, nil for none
	Mux   Mux          // where the server's own paths are served, nil for nowhere

	Insecure *Serving // nil if the port is closed
	Secure   *Serving // nil if the port is closed
	Guards   Guards   // of the secure port
	// Loopback is where the parts of the same process come in, as through the insecure port, whether
	// that is open or not; nil for nowhere.
	Loopback net.Listener

	Audit *audit.Auditor // of both ports, nil for none

	RequestTimeout     time.Duration // of requests that are not long-running
	GetsWait           bool          // for another program: the get of one object needs the limit too
	ReadTimeout        time.Duration // to read a request
	WriteTimeout       time.Duration // to answer one that keeps the limits of 2014
	MaxReads           int           // how many requests that only read are served at once at all ports; 0 for any number
	MaxChanges         int           // likewise of the others
	DrainTimeout       time.Duration // for requests in flight when the server ends
	ShutdownDelay      time.Duration // from when /readyz fails to when no more connections are taken
	CORSAllowedOrigins []*regexp.Regexp
	Profiling          bool

	Metrics *metrics.Metrics // served at /metrics; nil for none

	// BuildHandlerChain makes the handlers that a request passes. If it is not set, it is
	// the function of this name.
	BuildHandlerChain func(c *Config, guards Guards) http.Handler
	// Around is put around the handlers that know what a request asks for, such as a trace. It may be nil.
	Around func(chain http.Handler) http.Handler
	// Listen opens a port. If it is not set, it is net.Listen.
	Listen func(network, address string) (net.Listener, error)
	// Listening is called with the addresses when the ports are open. It may be nil.
	Listening func(insecure, secure net.Addr)

	inFlight *filters.InFlight
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

// CompletedConfig is a Config in which nothing is missing.
type CompletedConfig struct{ *Config }

// Complete fills in what follows from the rest. To decide what users may do without knowing who
// they are is a mistake in the program: Complete panics.
func (c *Config) Complete() CompletedConfig {
	if c.Guards.Authorizer != nil && c.Guards.Authenticator == nil {
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
	if c.inFlight == nil {
		c.inFlight = filters.NewInFlight()
	}
	if c.limits == nil {
		c.limits = filters.NewLimits(c.MaxReads, c.MaxChanges)
		if c.Metrics != nil {
			c.Metrics.ReadInFlight(c.limits.InFlight)
		}
	}
	return CompletedConfig{c}
}

// New makes a server.
func (c CompletedConfig) New() *Server {
	return &Server{
		config:   c.Config,
		insecure: c.BuildHandlerChain(c.Config, Guards{}),
		secure:   c.BuildHandlerChain(c.Config, c.Guards),
		ending:   make(chan struct{}),
		aborted:  make(chan struct{}),
	}
}
