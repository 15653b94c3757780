package master

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kube2014/pkg/endpoints"
	"kube2014/pkg/extensions"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/customresource"
	"kube2014/pkg/rest/customresource/conversion"
	"kube2014/pkg/server"
	"kube2014/pkg/webhook"
)

// createAPIExtensionsServer creates the link for the kinds of CustomResourceDefinitions. It is the last one of today's
// API: it answers requests that none of them serves.
func (m *Master) createAPIExtensionsServer(next *server.Link) *server.Link {
	endpoints := endpoints.New(m.Second, &m.Extensions)
	endpoints.All = m.catalogs
	link := &server.Link{Name: "extension server", Server: endpoints, Next: next}
	if !m.o.APIEnablement.ServesExtensions() {
		return link
	}
	resolve := webhook.NewServiceResolver(services{m})
	m.definitions = extensions.New(extensions.Config{Base: m.base(), Catalog: &m.Extensions, Others: rest.Catalogs{&m.aggregated, &m.built},
		NewConverter: func(crd *apiextensionsv1.CustomResourceDefinition) (customresource.Converter, error) {
			return conversion.New(crd, resolve)
		}})
	endpoints.Incomplete = func() bool { return !m.definitions.Followed() }
	m.Extensions.Install(m.definitions.Rows()...)
	link.AddLoop(m.definitions.Follow)
	link.AddLoop(m.definitions.Run)
	link.AddPostStartHook("crd-informer-synced", m.definitions.WaitUntilFollowed)
	return link
}

// services implements webhook.Services by the store.
type services struct{ *Master }

func (s services) Service(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	object, err := s.lookup(ctx, "services", namespace, name)
	if err != nil {
		return nil, err
	}
	return object.(*corev1.Service), nil
}

func (s services) Endpoints(ctx context.Context, namespace, name string) (*corev1.Endpoints, error) {
	object, err := s.lookup(ctx, "endpoints", namespace, name)
	if err != nil {
		return nil, err
	}
	return object.(*corev1.Endpoints), nil
}
