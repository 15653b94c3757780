package master

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/util/services"
)

// resolve returns how other servers are reached: webhooks, and those of APIServices.
func (m *Master) resolve() services.Resolver {
	return services.NewResolver(stored{m}, m.o.Aggregator.RouteToEndpoints)
}

// stored implements services.Reader by the store.
type stored struct{ *Master }

func (s stored) Service(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	object, err := s.lookup(ctx, "services", namespace, name)
	service, _ := object.(*corev1.Service)
	return service, err
}

func (s stored) Endpoints(ctx context.Context, namespace, name string) (*corev1.Endpoints, error) {
	object, err := s.lookup(ctx, "endpoints", namespace, name)
	endpoints, _ := object.(*corev1.Endpoints)
	return endpoints, err
}

func (s stored) EndpointSlices(_ context.Context, namespace, service string) (slices []*discoveryv1.EndpointSlice, err error) {
	row := s.row(discoveryv1.SchemeGroupVersion, "endpointslices")
	list, err := s.Stores.Objects.List(storage.Selection{Kind: row.StoredKind, Namespace: namespace}.With(map[string]string{discoveryv1.LabelServiceName: service}))
	if err != nil {
		return nil, err
	}
	codec := row.Codec()
	for _, item := range list.Items {
		slice, err := codec.ToVersioned(item.Object)
		if err != nil {
			return nil, err
		}
		slices = append(slices, slice.(*discoveryv1.EndpointSlice))
	}
	return slices, nil
}

// lookup returns an object of a resource of the core group.
func (m *Master) lookup(ctx context.Context, resource, namespace, name string) (metav1.Object, error) {
	answer, err := m.row(corev1.SchemeGroupVersion, resource).Storage.(rest.Getter).Get(ctx, rest.Key{Namespace: namespace, Name: name})
	if err != nil {
		return nil, err
	}
	object, err := answer.Object()
	if err != nil {
		return nil, err
	}
	return object.(metav1.Object), nil
}
