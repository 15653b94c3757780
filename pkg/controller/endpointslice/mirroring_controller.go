// Package endpointslice makes slices of endpoints, and of pods, as a client of the API.
package endpointslice

import (
	"context"
	"log"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

const (
	// Manager is the value of the label managed-by of the slices that a MirroringController makes.
	Manager = "endpointslice.kube2014"

	// electionAnnotation marks endpoints by which a leader was elected before there were leases.
	electionAnnotation = "control-plane.alpha.kubernetes.io/leader"

	// retryPause is the pause before a retry after a conflict.
	retryPause = 100 * time.Millisecond

	ofService = "service" // the index of slices by the keys of their services
)

// MirroringController keeps slices that say what the endpoints of a service say. It deletes its own once there is one of a
// controller of pods or of today's mirroring controller, or one with the name of the service. Until then a proxy that sees
// both uses each address once. Its work can be repeated, also by several controllers at once.
type MirroringController struct {
	*controller.Loop // over services
	endpoints        *cache.Store[*corev1.Endpoints]
	slices           *cache.Store[*discoveryv1.EndpointSlice]
}

// NewMirroringController returns a controller that has its handlers at the informers. They must be run by the caller.
func NewMirroringController(config controller.Config) *MirroringController {
	i := config.Informers
	m := &MirroringController{endpoints: i.Endpoints().Store(), slices: i.EndpointSlices().Store()}
	m.Loop = controller.NewLoop(config, "endpoint slice mirroring controller", m.sync)
	m.slices.AddIndex(ofService, serviceKeys)
	controller.Handle(m.Loop, i.Endpoints(), controller.Handler(m.Queue, controller.OwnKey[*corev1.Endpoints]))
	controller.Handle(m.Loop, i.EndpointSlices(), controller.Handler(m.Queue, serviceKeys))
	return m
}

// serviceOf returns the key of the service of a slice, one of no service if it has none.
func serviceOf(slice *discoveryv1.EndpointSlice) string {
	return cache.KeyOf(slice.Namespace, slice.Labels[discoveryv1.LabelServiceName])
}

func serviceKeys(slice *discoveryv1.EndpointSlice) []string { return []string{serviceOf(slice)} }

// sync makes the slices of a service. It retries if another client was faster.
func (m *MirroringController) sync(ctx context.Context, key string) error {
	err := m.write(ctx, key)
	if apierrors.IsInvalid(err) { // of a service of June 2014, whose names have other rules
		log.Printf("endpoint slice mirroring controller: %s: %v", key, err)
		return nil
	}
	return m.Outrun(key, retryPause, err)
}

func (m *MirroringController) write(ctx context.Context, key string) error {
	namespace, name, _ := strings.Cut(key, "/")
	client := m.Client.In(namespace).EndpointSlices()
	own, managed := m.known(key, name)
	wanted := map[string]*discoveryv1.EndpointSlice{}
	if endpoints, exists := m.endpoints.Get(key); exists && !managed && isMirrored(endpoints) {
		for _, slice := range SlicesOf(endpoints) {
			slice.Labels[discoveryv1.LabelManagedBy] = Manager
			wanted[slice.Name] = slice
		}
	}
	for _, slice := range own {
		if next := wanted[slice.Name]; next == nil || next.AddressType != slice.AddressType { // that cannot be changed
			if err := client.Delete(ctx, slice.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &slice.UID}}); err != nil {
				return err
			}
			delete(own, slice.Name)
		}
	}
	for name, slice := range wanted {
		var err error
		switch before := own[name]; {
		case before == nil:
			_, err = client.Create(ctx, slice)
		case !isSame(before, slice):
			slice.ResourceVersion = before.ResourceVersion
			_, err = client.Update(ctx, slice)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// known returns the slices of a service that a controller like this one has made, by name, and reports whether there are
// others that stand for the service: those of today's controllers, or one that has the name.
func (m *MirroringController) known(key, name string) (own map[string]*discoveryv1.EndpointSlice, managed bool) {
	own = map[string]*discoveryv1.EndpointSlice{}
	for _, slice := range m.slices.ByIndex(ofService, key) {
		switch slice.Labels[discoveryv1.LabelManagedBy] {
		case Manager:
			own[slice.Name] = slice
		case ControllerManager, "endpointslicemirroring-controller.k8s.io":
			managed = true
		default:
			managed = managed || slice.Name == name
		}
	}
	return own, managed
}

func isMirrored(endpoints *corev1.Endpoints) bool {
	_, elects := endpoints.Annotations[electionAnnotation]
	return endpoints.Labels[discoveryv1.LabelSkipMirror] != "true" && !elects
}

func isSame(a, b *discoveryv1.EndpointSlice) bool {
	return maps.Equal(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Ports, b.Ports) && equality.Semantic.DeepEqual(a.Endpoints, b.Endpoints)
}
