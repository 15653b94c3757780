package master

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/master/authenticationinfo"
	"kube2014/pkg/master/kubernetesservice"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/flowcontrol"
	"kube2014/pkg/rest/networking"
	"kube2014/pkg/rest/scheduling"
	"kube2014/pkg/server"
	"kube2014/pkg/util"
)

const (
	// builtInPeriod is the period in which built-in objects that were deleted are created again.
	builtInPeriod = time.Minute
	// repairPeriod is the period in which cluster IPs and node ports are compared with the services, as in today's server.
	repairPeriod = 3 * time.Minute
)

// hook returns a hook that calls a function until it succeeds.
func hook(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return untilDone(ctx, func() error { return do(ctx) }) }
}

// addBuiltIn lets a delegate create the objects that every server has, and keep them.
func (m *Master) addBuiltIn(delegate *server.Delegate, base rest.Base) {
	namespaces := func(ctx context.Context) error { return core.BootstrapNamespaces(ctx, m.Stores.Objects, time.Now) }
	classes := func(ctx context.Context) error { return scheduling.Bootstrap(ctx, base) }
	flows := func(ctx context.Context) error { return flowcontrol.Bootstrap(ctx, base) }
	delegate.AddPostStartHook("start-system-namespaces-controller", m.BootstrapNamespaces)
	delegate.AddPostStartHook("scheduling/bootstrap-system-priority-classes", hook(classes))
	delegate.AddPostStartHook("priority-and-fairness-config-producer", hook(flows))
	delegate.AddLoop(func(ctx context.Context) {
		for util.Sleep(ctx, builtInPeriod) {
			for _, create := range []func(context.Context) error{namespaces, classes, flows} {
				logError(create(ctx))
			}
		}
	})
}

// addServiceRanges lets a delegate create the object of the range, and repair what services hold.
func (m *Master) addServiceRanges(delegate *server.Delegate) {
	ranges := m.o.Services.Ranges
	if !ranges.Given() {
		return
	}
	allocator := networking.NewAllocator(m.Stores.Objects, ranges, time.Now)
	delegate.AddPostStartHook("start-kubernetes-service-cidr-controller", hook(func(ctx context.Context) error {
		return networking.Bootstrap(ctx, m.base(), ranges)
	}))
	repair := m.tracer.Sync("Allocator.Repair", allocator.Repair)
	delegate.AddLoop(func(ctx context.Context) {
		for pause := syncPause; util.Sleep(ctx, pause); pause = repairPeriod {
			logError(repair())
		}
	})
}

// addKubernetesService lets a delegate keep the service of the server, if other machines reach it at a secure port.
func (m *Master) addKubernetesService(delegate *server.Delegate) {
	if !m.o.SecureServing.Secure {
		return
	}
	k := kubernetesservice.New(m.lifecycle, *m.row(corev1.SchemeGroupVersion, "services"), *m.row(corev1.SchemeGroupVersion, "endpoints"),
		*m.row(discoveryv1.SchemeGroupVersion, "endpointslices"), m.o.Services.Ranges)
	sync := m.tracer.Sync("KubernetesService.Sync", k.Sync)
	delegate.AddPostStartHook("bootstrap-controller", func(ctx context.Context) error {
		k.ServeAt(netip.AddrPortFrom(m.o.Services.AdvertisedAddress(&m.o.SecureServing), m.securePort))
		return untilDone(ctx, sync)
	})
	delegate.AddLoop(func(ctx context.Context) {
		for log := logChanges(); util.Sleep(ctx, SyncPeriod); {
			log(sync())
		}
	})
	delegate.AddPreShutdownHook("stop-kubernetes-service", k.Stop)
}

// addAuthenticationInfo lets a delegate keep the config map of authentication, if there is something to say.
func (m *Master) addAuthenticationInfo(delegate *server.Delegate) {
	o := &m.o.Authentication
	if o.ClientCA == nil && o.ProxyCA == nil {
		return
	}
	info := &authenticationinfo.Info{ConfigMaps: m.row(corev1.SchemeGroupVersion, "configmaps").Storage.(rest.Updater),
		Clients: o.ClientCA, Proxies: o.ProxyCA, Proxy: o.RequestHeader.FrontProxy}
	sync := m.tracer.Sync("AuthenticationInfo.Sync", info.Sync)
	delegate.AddPostStartHook("start-cluster-authentication-info-controller", func(ctx context.Context) error {
		return untilDone(ctx, func() error {
			err := sync()
			if apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) {
				return err
			}
			logError(err) // somebody must repair the config map, so the server is ready without it
			return nil
		})
	})
	delegate.AddLoop(func(ctx context.Context) {
		for util.Sleep(ctx, SyncPeriod) {
			_ = untilDone(ctx, sync)
		}
	})
}
