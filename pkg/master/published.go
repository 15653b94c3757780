package master

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/master/authenticationinfo"
	"kube2014/pkg/master/kubernetesservice"
	"kube2014/pkg/rest"
	"kube2014/pkg/server"
	"kube2014/pkg/util"
)

// row returns a row of the built-in kinds.
func (m *Master) row(version schema.GroupVersion, resource string) *rest.Resource {
	return m.built.Snapshot().Find(version, resource)
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
