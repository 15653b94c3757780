package master

import (
	"context"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	rbacauthorizer "kube2014/pkg/auth/authorizer/rbac"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/admissionregistration"
	"kube2014/pkg/rest/apps"
	"kube2014/pkg/rest/autoscaling"
	"kube2014/pkg/rest/batch"
	"kube2014/pkg/rest/certificates"
	"kube2014/pkg/rest/coordination"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/devices"
	"kube2014/pkg/rest/discovery"
	"kube2014/pkg/rest/events"
	"kube2014/pkg/rest/flowcontrol"
	"kube2014/pkg/rest/metrics"
	"kube2014/pkg/rest/networking"
	"kube2014/pkg/rest/node"
	"kube2014/pkg/rest/policy"
	"kube2014/pkg/rest/rbac"
	"kube2014/pkg/rest/reviews"
	"kube2014/pkg/rest/scheduling"
	"kube2014/pkg/rest/volumes"
	"kube2014/pkg/server"
	"kube2014/pkg/trace"
)

// newTodaysConfig returns the configuration that the servers of today's API share.
func (m *Master) newTodaysConfig() *endpoints.Config {
	config := endpoints.NewConfig(time.Now)
	config.WriteTimeout, config.MinWatchTime = m.config.RequestTimeout, m.o.Generic.MinRequestTimeout
	config.Admission, config.WatchEvents, config.Hides = m.admission, m.metrics.WatchEvents, m.June2014.Owns
	return config
}

// base returns what the stores of built-in kinds without rules of their own share.
func (m *Master) base() rest.Base {
	return rest.Base{Objects: m.lifecycle, Now: time.Now, IgnoreDependents: !m.o.Controllers.EnableGarbageCollector}
}

// row returns a row of the built-in kinds.
func (m *Master) row(version schema.GroupVersion, resource string) *rest.Resource {
	return m.built.Snapshot().Find(version, resource)
}

// BootstrapNamespaces creates the namespaces that every server has, and lets the plugins read once. It waits until
// the store is available. The error is that of the context when it ends.
func (m *Master) BootstrapNamespaces(ctx context.Context) error {
	err := untilDone(ctx, func() error { return core.BootstrapNamespaces(ctx, m.Stores.Objects, time.Now) })
	if err == nil {
		m.readDecisive()
	}
	return err
}

// CreateKubeAPIServer creates the delegate of the built-in kinds, in the order in which discovery lists their groups.
// They share the store with the objects of June 2014. The placer chooses the machines of pods.
func (m *Master) CreateKubeAPIServer(placer *registry.PodPlacer, next *server.Delegate) *server.Delegate {
	kube := endpoints.New(m.Today, &m.built)
	delegate := &server.Delegate{Name: "master", Server: kube, Next: next}
	base := m.base()
	budgetRows, budgets := policy.Resources(base)
	m.built.Install(core.Resources(core.Config{
		Objects: m.lifecycle, Placer: placer, Now: time.Now, EventTTL: m.o.Etcd.EventTTL,
		Kubelets: m.Kubelets, Proxied: m.config.Network.proxied(),
		Budgets: &budgets, Components: m.components(),
		Issuer: m.o.Authentication.Issuer, IgnoreDependents: base.IgnoreDependents,
	})...)
	m.built.Install(slices.Concat(apps.Resources(base), events.Resources(base, m.o.Etcd.EventTTL))...)
	m.built.Install(reviews.Resources(reviews.Config{Authorizer: m.rights, Rules: m.rights, Tokens: m.tokens, Now: time.Now})...)
	m.built.Install(slices.Concat(autoscaling.Resources(base), batch.Resources(base), certificates.Resources(base), networking.Resources(base), budgetRows)...)
	if m.Roles.Policy != nil {
		check := &rbac.Escalation{Authorizer: m.rights, CheckGrant: rbacauthorizer.New(&m.Roles).CheckGrant}
		m.built.Install(rbac.Resources(m.lifecycle, time.Now, check)...)
		delegate.AddPostStartHook("rbac/bootstrap-roles", m.BootstrapRoles)
	}
	m.built.Install(slices.Concat(volumes.Resources(base), scheduling.Resources(base), coordination.Resources(base), node.Resources(base))...)
	m.built.Install(slices.Concat(discovery.Resources(base), devices.Resources(base), flowcontrol.Resources(base),
		admissionregistration.Resources(base, &admissionregistration.Readers{Authorizer: m.rights, Catalogs: m.catalogs}))...)
	if m.o.APIEnablement.Serves(options.Metrics) {
		objects := func(name string) metrics.Objects {
			return m.row(corev1.SchemeGroupVersion, name).Storage.(metrics.Objects)
		}
		m.built.Install(metrics.Resources(metrics.Config{Nodes: objects("nodes"), Pods: objects("pods"), Kubelets: m.Kubelets})...)
	}
	if accounts := m.o.Authentication.ServiceAccounts; accounts != nil && m.o.Authentication.ServiceAccountLookup {
		accounts.Lookup = m.lookup
	}
	if tokens := m.o.Authentication.Bootstrap; tokens != nil { // cached: else whoever shows tokens could let the server ask etcd at will
		kind := corev1.SchemeGroupVersion.WithKind("Secret")
		tokens.Secret = plugin.NewObjects[*corev1.Secret](trace.Untraced(m.Stores.Objects), "secrets", kind).GetCached
	}
	if discovery := m.o.Authentication.Discovery; discovery != nil {
		for path, serve := range map[string]http.HandlerFunc{serviceaccount.ConfigurationPath: discovery.ServeConfiguration, serviceaccount.KeysPath: discovery.ServeKeys} {
			kube.Handle(path, serve)
			kube.Handle(path+"/", serve) // as some clients of today's server spell it
		}
	}
	m.Stores.registry.Track = m.trackJune2014
	m.addBuiltIn(delegate, base)
	m.addServiceRanges(delegate)
	m.addNodeGraph(delegate)
	m.addKubernetesService(delegate)
	m.addAuthenticationInfo(delegate)
	if m.Loops.mayBeFree != nil {
		delegate.AddLoop(m.Loops.PlaceOnChange)
	}
	return delegate
}
