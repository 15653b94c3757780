// Package master assembles an apiserver according to its flags: registries on a store, a server
// for each API, and the generic server around them.
package master

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"

	"kube2014/pkg/admission"
	"kube2014/pkg/aggregator"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/node"
	"kube2014/pkg/client/kubeletclient"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/extensions"
	"kube2014/pkg/master/parts"
	"kube2014/pkg/metrics"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/rbac"
	"kube2014/pkg/server"
	genericoptions "kube2014/pkg/server/options"
	"kube2014/pkg/trace"
	"kube2014/pkg/ui"
	"kube2014/pkg/util/loopback"
)

// Master is an apiserver: its registries, the server of each API, and the generic server around
// them. Call New, BuildGenericConfig and CreateServerChain in this order, in one goroutine.
type Master struct {
	Stores   Registries
	Loops    Loops
	June2014 *apiserver.ApiServer // of June 2014's API
	Today    *endpoints.Config    // of the servers of today's API, nil if it is off
	Server   *server.Server
	// Extensions has the kinds of the extension server, which may change at run time.
	Extensions rest.Catalog
	Kubelets   *kubeletclient.HTTPContainerInfo // client of the kubelets
	Parts      *parts.Parts                     // of the cluster in this process, nil for none
	Roles      struct{ *rbac.Policy }           // nil without RBAC

	config  *Config
	o       *options.ServerRunOptions
	generic *server.Config
	metrics *metrics.Metrics
	tracer  *trace.Tracer // nil for none

	built       rest.Catalog  // the built-in kinds
	aggregated  rest.Catalog  // the kinds of the aggregator itself
	catalogs    rest.Catalogs // of all servers of today's API
	definitions *extensions.Server
	aggregator  *aggregator.Server
	lifecycle   core.Lifecycle // the store, as the built-in kinds use it

	securePort uint16 // set before loops and hooks run

	serving    context.Context // ends when the server is about to end
	endServing func()

	rights    authorizer.UnionAuthorizer
	nodes     *node.Graph         // of the Node authorizer
	tokens    authenticator.Token // nil without bearer tokens
	admission *admission.Chain
	// clientCertificate returns what the aggregator shows to other servers, nil for none.
	clientCertificate func() (*tls.Certificate, error)
}

// New returns a Master that serves nothing yet. The trace, if a flag turns it on, is written to traceOut.
func New(config *Config, o *options.ServerRunOptions, traceOut io.Writer) *Master {
	m := &Master{config: config, o: o, metrics: metrics.New(server.VersionInfo(config.Version))}
	m.serving, m.endServing = context.WithCancel(context.Background())
	m.catalogs = rest.Catalogs{&m.aggregated, &m.built, &m.Extensions}
	if o.Generic.Trace {
		m.tracer = trace.New(traceOut)
	}
	return m
}

// Close closes the connections to the store. Requests fail after that.
func (m *Master) Close() {
	if m.Stores.Close != nil {
		m.Stores.Close()
	}
}

// BuildGenericConfig returns the configuration of the generic server, filled in by the option groups. The
// error joins one for each invalid flag, which names the flag.
func (m *Master) BuildGenericConfig() (*server.Config, error) {
	o := m.o
	config := &server.Config{ReadTimeout: m.config.RequestTimeout, WriteTimeout: m.config.RequestTimeout, DrainTimeout: m.config.DrainTimeout,
		GetsWait: len(o.Etcd.Servers) > 0, Listen: m.config.Network.Listen}
	o.Generic.ApplyTo(config)
	o.InsecureServing.ApplyTo(config)
	o.Features.ApplyTo(config)
	audit := o.Audit.ApplyTo(config)
	var profiling error
	if o.Features.Profiling && !servesToday(o) {
		profiling = errors.New("-profiling: it is served beside today's API, which is off")
	}
	serving := o.SecureServing.ApplyTo(config, &o.Authentication)
	var authentication, authorization, plugins, kubelets, aggregation error
	o.Authentication.TokenCacheTTL = m.config.TokenCacheTTL
	m.tokens, authentication = o.Authentication.ApplyTo(config, &o.Authorization)
	m.nodes = node.NewGraph(m.machineOf)
	m.rights, authorization = o.Authorization.ApplyTo(config, &m.Roles, node.New(m.nodes, m.nodeRules()))
	m.admission, plugins = o.Admission.ApplyTo()
	m.clientCertificate, aggregation = o.Aggregator.ApplyTo()
	if o.Parts.Has(options.PartKubelet) {
		o.Kubelet.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return m.Parts.DialKubelet(ctx, network, address)
		}
	}
	m.Kubelets, kubelets = o.Kubelet.ApplyTo()
	m.generic = config
	return config, errors.Join(audit, profiling, serving, authentication, authorization, plugins, kubelets, aggregation)
}

// CreateServerChain creates the servers over the registries, each with the next one behind it: aggregator, master,
// extension server, June 2014; and the generic server before them. The error names a flag.
func (m *Master) CreateServerChain(stores Registries, table map[string]apiserver.RESTStorage, scheduler registry.Scheduler) error {
	m.Stores = stores
	m.lifecycle = core.NewLifecycle(stores.Objects, m.catalogs)
	m.Loops = m.newLoops()
	if m.o.Authorization.Has(genericoptions.RBAC) {
		m.Roles.Policy = rbac.NewPolicy(stores.Objects)
	}
	chain := m.createJune2014(table)
	if servesToday(m.o) {
		m.Today = m.newTodaysConfig()
		extensions := m.createAPIExtensionsServer(chain)
		master := m.CreateKubeAPIServer(m.newPlacer(scheduler), extensions)
		chain = m.createAggregatorServer(master)
	}
	m.openAdmission()
	return m.createGenericServer(chain)
}

// runsControllers reports whether the server runs controllers, which are clients of today's API.
func (m *Master) runsControllers() bool { return m.Today != nil && m.o.Controllers.Any() }

// createGenericServer creates the server in front of the chain, and the parts of the cluster beside it.
func (m *Master) createGenericServer(chain *server.Delegate) (err error) {
	config := m.generic
	config.Chain, config.Around = chain, m.tracer.Handler
	config.Auth = m.tracer.Auth(config.Auth)
	m.observeLayers()
	if issuer := m.o.Authentication.OpenID; issuer != nil {
		chain.AddLoop(issuer.Run)
	}
	m.addFlowControl(chain)
	if m.Today != nil {
		config.Mux, config.Page = m.aggregator, ui.Handler()
	}
	config.Listening = m.announce
	if m.o.Parts.Around() || m.runsControllers() {
		inside := loopback.Listen()
		config.Loopback = inside
		if m.Parts, err = m.config.NewParts(m.o, func(userAgent string) (*clientv1.Client, error) {
			return clientv1.Over(inside.DialContext, userAgent), nil
		}, m.tracer); err != nil {
			return err
		}
		if m.runsControllers() {
			others := m.aggregator.Deletable
			if !m.o.APIEnablement.Serves(options.APIServices) {
				others = nil
			}
			if err := m.Parts.AddControllers(m.catalogs, others); err != nil {
				return err
			}
		}
		chain.AddLoop(func(ctx context.Context) { m.Parts.RunAfter(ctx, m.Server.Started()) })
		chain.AddPreShutdownHook("stop-parts", m.Parts.Stop)
	}
	if m.Today != nil { // after the parts, which would list again what they watched
		chain.AddPreShutdownHook("end-watches", func() error {
			m.endServing()
			m.Today.EndWatches()
			return nil
		})
	}
	m.Server = config.Complete().New()
	return nil
}
