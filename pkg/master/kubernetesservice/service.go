// Package kubernetesservice keeps the service kubernetes, by which pods find the servers.
package kubernetesservice

import (
	"context"
	"errors"
	"log"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/networking"
	"kube2014/pkg/storage"
)

// leaseKind is the kind of the leases of apiservers on the endpoints of their service, named by address and port.
const leaseKind api.Kind = "masterleases"

// leaseTime is the time after which a server that does not renew its lease has ended.
const leaseTime = 15 * time.Second

var serverKey = rest.Key{Namespace: metav1.NamespaceDefault, Name: api.ServerService}

var labelsOfServer = map[string]string{"component": "apiserver", "provider": "kubernetes"}

// Keeper keeps the service by which pods find the servers, and its endpoints: the servers that hold a lease.
type Keeper struct {
	objects             storage.Interface
	services, endpoints rest.Resource
	slices              serverSlices
	ranges              networking.Ranges

	mu    sync.Mutex     // held while the endpoints are written; guards what follows
	at    netip.AddrPort // of this server, invalid once it ends
	named bool           // it was logged that June 2014 has a service of the name
}

// New returns what keeps the service of the server. The resources are those of services, endpoints and endpoint slices.
func New(objects storage.Interface, services, endpoints, slices rest.Resource, ranges networking.Ranges) *Keeper {
	return &Keeper{objects: objects, services: services, endpoints: endpoints, slices: serverSlices{slices}, ranges: ranges}
}

// ServeAt begins to keep the service of a server at an address.
func (k *Keeper) ServeAt(at netip.AddrPort) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = at
}

// Sync renews the lease of this server, and creates or repairs the service and its endpoints.
func (k *Keeper) Sync() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.at.IsValid() {
		return nil
	}
	renewed := storage.Update(&api.Any{Kind: leaseKind, ID: k.at.String()}, storage.Blind)
	renewed.TTL = leaseTime
	if _, err := storage.CommitOne(k.objects, renewed); err != nil {
		return err
	}
	isOurs, err := k.syncService()
	if err == nil && !isOurs && !k.named {
		k.named = true
		log.Printf("a service %s of June 2014's API is there: that of the server is not made", api.ServerService)
	}
	if err != nil || !isOurs {
		return err
	}
	return k.syncEndpoints()
}

// Stop ends the lease of this server, and removes it from the endpoints.
func (k *Keeper) Stop() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.at.IsValid() {
		return nil
	}
	ended := storage.Delete(api.Key{Kind: leaseKind, ID: k.at.String()}, storage.Any)
	k.at = netip.AddrPort{}
	if _, err := k.objects.Commit(ended); err != nil {
		return err
	}
	stored, err := k.objects.Get(api.DefaultKey(api.ServiceKind, api.ServerService))
	if err != nil || !api.IsServers(stored) { // the endpoints have gone with it, or are not ours
		return nil
	}
	return k.syncEndpoints()
}

// syncService creates the service if there is none. It reports false if June 2014 has another service of the name.
func (k *Keeper) syncService() (isOurs bool, err error) {
	stored, err := k.objects.Get(api.DefaultKey(api.ServiceKind, api.ServerService))
	if err == nil {
		return api.IsServers(stored), nil
	}
	policy := corev1.IPFamilyPolicySingleStack
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: serverKey.Name, Labels: labelsOfServer}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(int32(k.at.Port()))}}}}
	if k.ranges.Given() {
		service.Spec.ClusterIP, service.Spec.IPFamilyPolicy = k.ranges.First().String(), &policy
	}
	_, err = k.services.Storage.(rest.Creater).Create(context.Background(), serverKey, service, rest.WriteOptions{})
	if apierrors.IsAlreadyExists(err) { // another server was first; the next sync sees whose it is
		err = nil
	}
	return true, err
}

// syncEndpoints writes the servers that hold a lease.
func (k *Keeper) syncEndpoints() error {
	leases, err := k.objects.List(storage.Selection{Kind: leaseKind})
	if err != nil {
		return err
	}
	byPort := map[uint16][]corev1.EndpointAddress{}
	var invalid []error
	for _, lease := range leases.Items {
		at, err := netip.ParseAddrPort(lease.Key().ID)
		if err != nil {
			invalid = append(invalid, errors.New("there is a lease of "+strconv.Quote(lease.Key().ID)+", which is no address"))
			continue
		}
		byPort[at.Port()] = append(byPort[at.Port()], corev1.EndpointAddress{IP: at.Addr().String()})
	}
	var subsets []corev1.EndpointSubset
	for _, port := range slices.Sorted(maps.Keys(byPort)) {
		subsets = append(subsets, corev1.EndpointSubset{Addresses: byPort[port],
			Ports: []corev1.EndpointPort{{Name: "https", Port: int32(port), Protocol: corev1.ProtocolTCP}}})
	}
	answer, _, err := k.endpoints.Storage.(rest.Updater).Update(context.Background(), serverKey, func(current rest.Object) (rest.Object, error) {
		endpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: serverKey.Name, Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"}}}
		if current != nil {
			endpoints = current.(*corev1.Endpoints)
		}
		endpoints.Subsets = subsets
		return endpoints, nil
	}, rest.AsServer())
	if err == nil {
		err = k.slices.sync(answer)
	}
	return errors.Join(append(invalid, err)...)
}
