package master

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/endpoints"
	"kube2014/pkg/extensions"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/customresource"
	"kube2014/pkg/server"
)

// createAPIExtensionsServer creates the link for the kinds of CustomResourceDefinitions. It is the last one of today's
// API: it answers requests that none of them serves.
func (m *Master) createAPIExtensionsServer(next *server.Link) *server.Link {
	endpoints := endpoints.New(m.Second, &m.Extensions)
	endpoints.All = m.catalogs
	link := &server.Link{Name: "extension server", Server: endpoints, Next: next}
	definitions := extensions.New(extensions.Config{Base: m.base(), Catalog: &m.Extensions, Others: rest.Catalogs{&m.aggregated, &m.built},
		NewConverter: func(*apiextensionsv1.CustomResourceDefinition) customresource.Converter { return none{} }})
	endpoints.Incomplete = func() bool { return !definitions.Followed() }
	m.Extensions.Install(definitions.Rows()...)
	link.AddLoop(definitions.Follow)
	link.AddLoop(definitions.Run)
	link.AddPostStartHook("crd-informer-synced", definitions.WaitUntilFollowed)
	return link
}

type none struct{}

func (none) Convert(ctx context.Context, objects []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, o := range objects {
		o = o.DeepCopy()
		o.SetAPIVersion(to.String())
		out = append(out, o)
	}
	return out, nil
}
