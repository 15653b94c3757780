package endpointslice

import (
	"context"
	"log"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/util/pods"
)

const (
	// ControllerManager is the value of the label managed-by of the slices of an EndpointSliceController. It is that of
	// today's, so that each can go on with the slices of the other.
	ControllerManager = "endpointslice-controller.k8s.io"

	// batchPeriod is the time from the change of a pod or a slice until the slices are synced, so that a sync has the changes
	// of many pods.
	batchPeriod = 100 * time.Millisecond
)

// EndpointSliceController keeps the slices of services with a selector. It deletes them when a service has no selector any
// more, so that the MirroringController makes slices of what others write into the endpoints. The garbage collector deletes
// those of deleted services.
type EndpointSliceController struct {
	*controller.Loop // over services
	services         *cache.Store[*corev1.Service]
	pods             *cache.Store[*corev1.Pod]
	nodes            *cache.Store[*corev1.Node]
	slices           *cache.SharedInformer[*discoveryv1.EndpointSlice]
}

// NewEndpointSliceController returns a controller that has its handlers at the informers. They must be run by the caller.
func NewEndpointSliceController(config controller.Config) *EndpointSliceController {
	i := config.Informers
	e := &EndpointSliceController{services: i.Services().Store(), pods: i.Pods().Store(), nodes: i.Nodes().Store(), slices: i.EndpointSlices()}
	e.Loop = controller.NewLoop(config, "endpoint slice controller", e.sync)
	e.services.AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	e.pods.AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	e.slices.Store().AddIndex(ofService, serviceKeys)
	e.WaitFor(i.Nodes().HasSynced)
	controller.Handle(e.Loop, i.Services(), controller.Handler(e.Queue, controller.OwnKey[*corev1.Service]))
	controller.Handle(e.Loop, i.Pods(), controller.WithoutResyncs(controller.EachVersion(e.podChanged)))
	controller.Handle(e.Loop, e.slices, controller.WithoutResyncs(controller.EachVersion(e.sliceChanged)))
	return e
}

// podChanged queues the services that select a pod.
func (e *EndpointSliceController) podChanged(pod *corev1.Pod) {
	for _, service := range e.services.ByIndex(cache.NamespaceIndex, pod.Namespace) {
		if pods.Selects(service.Spec.Selector, pod.Labels) {
			e.Queue.AddAfter(cache.Key(service), batchPeriod)
		}
	}
}

func (e *EndpointSliceController) sliceChanged(slice *discoveryv1.EndpointSlice) {
	if isControllers(slice) {
		e.Queue.AddAfter(serviceOf(slice), batchPeriod)
	}
}

func isControllers(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == ControllerManager
}

// sync makes the slices of a service right. It retries if another client was faster.
func (e *EndpointSliceController) sync(ctx context.Context, key string) error {
	service, exists := e.services.Get(key)
	if !exists {
		return nil
	}
	err := e.write(ctx, service, e.plan(service))
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return controller.ErrStale
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case clientv1.IsRefusal(err):
		e.Recorder.Eventf(service, corev1.EventTypeWarning, "FailedToUpdateEndpointSlices", "Error updating Endpoint Slices for Service %s/%s: %s",
			service.Namespace, service.Name, err)
	}
	if apierrors.IsInvalid(err) { // of a service of June 2014, whose names have other rules
		log.Printf("endpoint slice controller: %s: %v", key, err)
		return nil
	}
	return err
}

// plan returns what makes the slices of a service right.
func (e *EndpointSliceController) plan(service *corev1.Service) *plan {
	p := &plan{service: service, labels: sliceLabels(service), isTaken: func(name string) bool {
		_, taken := e.slices.Store().Get(cache.KeyOf(service.Namespace, name))
		return taken
	}}
	var own []*discoveryv1.EndpointSlice
	for _, slice := range e.slices.Store().ByIndex(ofService, cache.Key(service)) {
		if isControllers(slice) && slice.DeletionTimestamp == nil {
			own = append(own, slice)
		}
	}
	if len(service.Spec.Selector) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName {
		p.remove = own
	} else {
		p.make(endpointsByType(service, e.pods.ByIndex(cache.NamespaceIndex, service.Namespace), e.zoneOf), own)
	}
	if service.DeletionTimestamp != nil { // what is made now, the garbage collector may not see
		p.create, p.remove = nil, nil
	}
	return p
}

func (e *EndpointSliceController) zoneOf(node string) string {
	if found, exists := e.nodes.Get(node); exists {
		return found.Labels[corev1.LabelTopologyZone]
	}
	return ""
}

// write does what is planned, and waits until the copy shows it. Pods that go from one slice to another are first in both.
func (e *EndpointSliceController) write(ctx context.Context, service *corev1.Service, p *plan) error {
	client := e.Client.In(service.Namespace).EndpointSlices()
	if len(p.create)+len(p.remove) > 0 {
		current, err := controller.Confirm(ctx, e.Client.In(service.Namespace).Services(), service)
		if err != nil {
			return err
		}
		if !equality.Semantic.DeepEqual(current.Spec, service.Spec) {
			return controller.ErrStale
		}
	}
	todo := slices.Concat(p.create, p.update, p.remove)
	_, err := controller.Each(ctx, todo, func(slice *discoveryv1.EndpointSlice) (controller.Expectation, error) {
		if slices.Contains(p.remove, slice) {
			return controller.ShowsDeleted(e.slices, slice), client.Delete(ctx, slice.Name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &slice.UID, ResourceVersion: &slice.ResourceVersion}})
		}
		write := client.Update
		if slice.UID == "" { // it is new
			write = client.Create
		}
		written, err := write(ctx, slice)
		return controller.Shows(e.slices, written), err
	})
	return err
}
