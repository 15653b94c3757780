// Package endpoint keeps the endpoints of services up to date with their pods, as a client of the API.
package endpoint

import (
	"context"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
	"kube2014/pkg/util/pods"
)

const (
	// The label that today's endpoints controller gives to what it writes. The server does not
	// sync endpoints that have it.
	endpointsManagedBy, endpointsManager = "endpoints.kubernetes.io/managed-by", "endpoint-controller"

	// endpointsPause is the pause before a retry after a conflict. By then the informer has
	// probably seen what another client has written.
	endpointsPause = 100 * time.Millisecond
)

// EndpointController keeps the endpoints of services with a selector up to date with their pods. It
// may run beside the server's own sync of endpoints, which ignores endpoints with the label of the
// controller. The controller leaves to the server what today's API cannot express: endpoints at
// machines with a name, whose address no kubelet reports.
type EndpointController struct {
	*controller.Loop // over services
	services         *cache.Store[*corev1.Service]
	pods             *cache.Store[*corev1.Pod]
	endpoints        *cache.Store[*corev1.Endpoints]
}

// NewEndpointController returns a controller that has its handlers at the informers. They must be
// run by the caller.
func NewEndpointController(config controller.Config) *EndpointController {
	i := config.Informers
	e := &EndpointController{services: i.Services().Store(), pods: i.Pods().Store(), endpoints: i.Endpoints().Store()}
	e.Loop = controller.NewLoop(config, "endpoint controller", e.sync)
	e.services.AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	e.pods.AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	controller.Handle(e.Loop, i.Services(), controller.Handler(e.Queue, controller.OwnKey[*corev1.Service]))
	controller.Handle(e.Loop, i.Pods(), controller.WithoutResyncs(controller.EachVersion(e.podChanged)))
	controller.Handle(e.Loop, i.Endpoints(), controller.Handler(e.Queue, controller.OwnKey[*corev1.Endpoints]))
	return e
}

// podChanged queues the services that select a pod.
func (e *EndpointController) podChanged(pod *corev1.Pod) {
	for _, service := range e.services.ByIndex(cache.NamespaceIndex, pod.Namespace) {
		if pods.Selects(service.Spec.Selector, pod.Labels) {
			e.Queue.Add(cache.Key(service))
		}
	}
}

// sync updates the endpoints of a service. It retries if another client was faster.
func (e *EndpointController) sync(ctx context.Context, key string) error {
	stored, exists := e.endpoints.Get(key)
	err := e.write(ctx, key, stored)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || exists && apierrors.IsNotFound(err) {
		e.Queue.AddAfter(key, endpointsPause)
		return nil
	}
	return err
}

// write replaces the stored endpoints, nil for none, by the right ones.
func (e *EndpointController) write(ctx context.Context, key string, stored *corev1.Endpoints) error {
	namespace, _, _ := strings.Cut(key, "/")
	client := e.Client.In(namespace).Endpoints()
	service, exists := e.services.Get(key)
	if !exists {
		if stored == nil || !isManaged(stored) {
			return nil
		}
		return client.Delete(ctx, stored.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &stored.UID}})
	}
	if len(service.Spec.Selector) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil // other clients write them
	}
	var err error
	switch next := endpointsOf(service, e.pods.ByIndex(cache.NamespaceIndex, namespace), stored); {
	case next == nil:
	case stored == nil:
		_, err = client.Create(ctx, next)
	default:
		_, err = client.Update(ctx, next)
	}
	return err
}

// endpointsOf returns the endpoints of a service to write, nil if the stored ones, which may be nil,
// are right.
func endpointsOf(service *corev1.Service, pods []*corev1.Pod, stored *corev1.Endpoints) *corev1.Endpoints {
	subsets := endpointSubsetsOf(service, pods)
	if !areEndpointsWritable(subsets) {
		return releasedEndpoints(stored)
	}
	next := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name}}
	labels := endpointLabelsOf(service)
	if stored != nil {
		next = stored.DeepCopy()
		same := equality.Semantic.DeepEqual(repackEndpointSubsets(stored.Subsets), subsets)
		if same && (!isManaged(stored) || maps.Equal(stored.Labels, labels)) {
			return nil
		}
	}
	next.Labels, next.Subsets = labels, subsets
	return next
}

// releasedEndpoints returns endpoints without the label, nil if they have none.
func releasedEndpoints(stored *corev1.Endpoints) *corev1.Endpoints {
	if stored == nil || !isManaged(stored) {
		return nil
	}
	next := stored.DeepCopy()
	delete(next.Labels, endpointsManagedBy)
	return next
}

func isManaged(endpoints *corev1.Endpoints) bool {
	return endpoints.Labels[endpointsManagedBy] == endpointsManager
}

// endpointLabelsOf returns the labels that the endpoints of a service have.
func endpointLabelsOf(service *corev1.Service) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, service.Labels)
	delete(labels, corev1.IsHeadlessService)
	if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
		labels[corev1.IsHeadlessService] = ""
	}
	labels[endpointsManagedBy] = endpointsManager
	return labels
}
