package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/admission/plugin/resourcequota"
	"kube2014/pkg/admission/v1beta1"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/client"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/metrics"
	"kube2014/pkg/options"
	"kube2014/pkg/rest/rbac"
	"kube2014/pkg/server"
	"kube2014/pkg/server/healthz"
	"kube2014/pkg/trace"
	"kube2014/pkg/ui"
	"kube2014/pkg/util/loopback"
)

// master is an apiserver: its registries, the doors to them, and the server around.
type master struct {
	stores registries
	loops  loops
	first  *apiserver.ApiServer
	second *endpoints.Server // nil if that door is closed
	server *server.Server

	metrics *metrics.Metrics

	rights authorizer.United      // who may do what
	tokens authenticator.Token    // who knows bearer tokens, nil if nobody does
	roles  struct{ *rbac.Policy } // of RBAC; nil without that

	admission *admission.Chain // decides about changes

	kubelets *client.HTTPContainerInfo // asks them
	tracer   *trace.Tracer             // nil for none
	parts    *parts                    // around the server, nil for none
}

func (m *master) close() {
	if m.stores.close != nil {
		m.stores.close()
	}
}

// createMaster makes what the flags ask for. A trace goes to narration. The error names a flag.
// Today's server calls this CreateServerChain.
func createMaster(o *options.ServerRunOptions, narration io.Writer) (*master, error) {
	return createMasterOn(hostNetwork, o, narration)
}

// createMasterOn is createMaster on a network.
func createMasterOn(network network, o *options.ServerRunOptions, narration io.Writer) (*master, error) {
	m := &master{metrics: metrics.New(server.VersionInfo(version))}
	if o.Parts.Has(options.PartKubelet) {
		o.Kubelet.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return m.parts.dialKubelet(ctx, network, address)
		}
	}
	config, err := m.buildConfig(o)
	var kubelets error
	m.kubelets, kubelets = o.Kubelet.ApplyTo()
	if err = errors.Join(err, kubelets); err != nil {
		return nil, err
	}
	if o.Generic.Trace {
		m.tracer = trace.New(narration)
	}
	if err = m.assemble(o); err != nil {
		return nil, err
	}
	config.Around = func(chain http.Handler) http.Handler { return m.tracer.Handler(chain, m.first) }
	config.Guards = m.tracer.Guards(config.Guards)
	m.admission.Around = m.tracer.Admission(m.metrics.Admission)
	m.openAdmission()
	m.observeLayers(config)
	config.API, config.NeedsInfo = m.first, m.first.Admission != nil
	config.Checks = m.checks()
	if m.second != nil {
		config.Mux, config.Page = m.second, ui.Handler()
		m.second.MinWatchTime = o.Generic.MinRequestTimeout
	}
	config.Listening = func(insecure, secure net.Addr) { m.announce(o, insecure, secure) }
	config.Listen = network.listen
	if o.Parts.Around() {
		inside := loopback.Listen()
		config.Loopback = inside
		if m.parts, err = makeParts(o, network, func(userAgent string) (*clientv1.Client, error) {
			return clientv1.Over(inside.DialContext, userAgent), nil
		}, m.tracer); err != nil {
			return nil, err
		}
	}
	m.server = config.Complete().New()
	m.addHooks()
	return m, nil
}

// buildConfig lets the option groups fill in the configuration of the server. The error joins
// one for each flag that is wrong, which names the flag. Today's server calls this
// BuildGenericConfig.
func (m *master) buildConfig(o *options.ServerRunOptions) (*server.Config, error) {
	config := &server.Config{ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, DrainTimeout: drainTimeout, GetsWait: len(o.Etcd.Servers) > 0}
	o.Generic.ApplyTo(config)
	o.InsecureServing.ApplyTo(config)
	o.Features.ApplyTo(config)
	audit := o.Audit.ApplyTo(config)
	var profiling error
	if o.Features.Profiling && !servesToday(o) {
		profiling = errors.New("-profiling: it is served beside today's API, which is off")
	}
	serving := o.SecureServing.ApplyTo(config, &o.Authentication)
	var authentication, authorization error
	m.tokens, authentication = o.Authentication.ApplyTo(config, &o.Authorization)
	m.rights, authorization = o.Authorization.ApplyTo(config, &m.roles)
	var plugins error
	m.admission, plugins = o.Admission.ApplyTo()
	return config, errors.Join(audit, profiling, serving, authentication, authorization, plugins)
}

// openAdmission lets the plugins decide about the changes at both doors. All tasks are in the namespace
// default, which is there.
func (m *master) openAdmission() {
	m.admission.Each(func(_ string, p admission.Interface) {
		if wants, ok := p.(resourcequota.WantsObjects); ok {
			wants.SetObjects(m.stores.objects)
		}
	})
	if m.second != nil {
		m.second.Admission = m.admission
	}
	if chain := m.admission.Without(plugin.NameNamespaceExists).Without(plugin.NameNamespaceLifecycle); chain != nil {
		m.first.Admission = &v1beta1.Door{Chain: chain, Objects: m.stores.objects, Scheme: v1.Scheme}
	}
}

// checks returns what must hold for the server to be healthy.
func (m *master) checks() []healthz.Check {
	checks := []healthz.Check{healthz.Ping}
	if m.stores.healthz != nil {
		checks = append(checks, healthz.Check{Name: "etcd", Check: func() error {
			_, err := m.stores.healthz()
			return err
		}})
	}
	return checks
}

// addHooks lets the loops begin when the ports are open, and the watches end before they are
// closed.
func (m *master) addHooks() {
	for _, loop := range m.loops.all() {
		m.server.AddLoop(loop)
	}
	if m.roles.Policy != nil {
		m.server.AddPostStartHook("rbac/bootstrap-roles", m.bootstrapRoles)
	}
	if m.parts != nil {
		m.server.AddLoop(m.parts.run)
		m.server.AddPreShutdownHook("stop-parts", m.parts.stop)
	}
	if m.second != nil {
		m.server.AddPreShutdownHook("end-watches", func() error {
			m.second.EndWatches()
			return nil
		})
	}
}

// readRoles lets RBAC, if it is on, decide by the roles in the store.
func (m *master) readRoles(o *options.ServerRunOptions) {
	if o.Authorization.Has(options.RBAC) {
		m.roles.Policy = rbac.NewPolicy(m.stores.objects, v1.Scheme)
	}
}

// bootstrapRoles makes the default roles, and lets the store be followed, however long it
// takes until the store can be reached.
func (m *master) bootstrapRoles(ctx context.Context) error {
	for told := ""; ; {
		err := m.roles.Load()
		if err == nil {
			err = rbac.Bootstrap(ctx, m.stores.objects, v1.Scheme, time.Now)
		}
		if err == nil {
			return nil
		}
		if err.Error() != told {
			logError(err)
			told = err.Error()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(syncPause):
		}
	}
}

// announce logs where the server serves what.
func (m *master) announce(o *options.ServerRunOptions, insecure, secure net.Addr) {
	var at []string
	if insecure != nil {
		at = append(at, "http://"+insecure.String())
	}
	if secure != nil {
		at = append(at, "https://"+secure.String())
	}
	paths := pathsInWords(o)
	log.Printf("kube2014 apiserver %s serves %s: registry %s, scheduler %s, machines %s",
		version, strings.Join(at, paths+", ")+paths, m.stores.name, o.Generic.Scheduler, o.Generic.MachinesInWords())
	if o.Parts.Around() && m.second != nil {
		log.Printf("the cluster can be seen at %s", at[0]+ui.Path)
	}
	if insecure != nil && reachableByOthers(insecure) {
		log.Printf("warning: -address %s is not a loopback address, and there is no authentication: whoever reaches it may change everything", o.InsecureServing.Address)
	}
}

// reachableByOthers tells whether other machines may reach an address.
func reachableByOthers(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}
