package master

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kube2014/pkg/endpoints"
	"kube2014/pkg/extensions"
	"kube2014/pkg/options"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/customresource"
	"kube2014/pkg/rest/customresource/conversion"
	"kube2014/pkg/server"
)

// createAPIExtensionsServer creates the delegate for the kinds of CustomResourceDefinitions. It is the last one of today's
// API: it answers requests that none of them serves.
func (m *Master) createAPIExtensionsServer(next *server.Delegate) *server.Delegate {
	endpoints := endpoints.New(m.Today, &m.Extensions)
	endpoints.All = m.catalogs
	delegate := &server.Delegate{Name: "extension server", Server: endpoints, Next: next}
	if !m.o.APIEnablement.Serves(options.Extensions) {
		return delegate
	}
	m.definitions = extensions.New(extensions.Config{Base: m.base(), Catalog: &m.Extensions, Others: rest.Catalogs{&m.aggregated, &m.built},
		NewConverter: func(crd *apiextensionsv1.CustomResourceDefinition) (customresource.Converter, error) {
			return conversion.New(crd, m.resolve())
		}})
	endpoints.Incomplete = func() bool {
		return !m.definitions.Followed() || m.o.APIEnablement.Serves(options.APIServices) && !m.aggregator.Followed()
	}
	m.Extensions.Install(m.definitions.Rows()...)
	delegate.AddLoop(m.definitions.Follow)
	delegate.AddLoop(m.definitions.Run)
	delegate.AddPostStartHook("crd-informer-synced", m.definitions.WaitUntilFollowed)
	return delegate
}
