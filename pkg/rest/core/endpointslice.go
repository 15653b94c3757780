package core

import (
	"context"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

// endpointSlices implements the verbs that read slices, which are derived from endpoints: one slice for each
// subset.
type endpointSlices struct {
	generic.Base
	endpoints *v1.Codec
}

func endpointSliceRows(b generic.Base) []rest.Resource {
	codec := v1.NewCodec(coreGroup.WithKind("Endpoints"), api.EndpointsKind, v1.Scheme)
	return []rest.Resource{{GroupVersion: discoveryGroup, Name: "endpointslices", Kind: discoveryGroup.WithKind("EndpointSlice"), Singular: "endpointslice", Namespaced: true,
		Storage: endpointSlices{b, codec}, Printer: printers.EndpointSlices}}
}

func (e endpointSlices) Get(ctx context.Context, key rest.Key) (rest.Answer, error) {
	list, _, err := e.all(key.Namespace)
	if err != nil {
		return nil, err
	}
	for _, slice := range list {
		if slice.Name == key.Name {
			return rest.MakeAnswer(slice), nil
		}
	}
	return nil, errors.NewNotFound(discoveryv1.Resource("endpointslices"), key.Name)
}

// List returns all slices in one page.
func (e endpointSlices) List(_ context.Context, namespace string, options rest.ListOptions) (*rest.List, error) {
	if err := options.OnlyName(); err != nil {
		return nil, err
	}
	all, version, err := e.all(namespace)
	if err != nil {
		return nil, err
	}
	objects := []runtime.Object{}
	for _, slice := range all {
		if options.Matches(slice, nil) {
			objects = append(objects, slice)
		}
	}
	return rest.MakeList(discoveryGroup.WithKind("EndpointSlice"), version, objects), nil
}

func (e endpointSlices) all(namespace string) (slicesOfAll []*discoveryv1.EndpointSlice, version uint64, err error) {
	list, err := e.Objects.List(storage.Selection{Kind: api.EndpointsKind, Namespace: namespace})
	if err != nil {
		return nil, 0, rest.StatusError(err, discoveryv1.Resource("endpointslices"), "")
	}
	for _, item := range list.Items {
		slicesOfOne, err := e.of(item)
		if err != nil {
			return nil, 0, err
		}
		slicesOfAll = append(slicesOfAll, slicesOfOne...)
	}
	return slicesOfAll, list.Version, nil
}

// of returns the slices of stored endpoints, none for nil.
func (e endpointSlices) of(stored *storage.Object) ([]*discoveryv1.EndpointSlice, error) {
	if stored == nil {
		return nil, nil
	}
	converted, err := e.endpoints.Out(stored.Object)
	if err != nil {
		return nil, err
	}
	return slicesOf(converted.(*corev1.Endpoints).DeepCopy()), nil
}

// Watch derives its events from changes of endpoints, which may change, add and delete slices.
func (e endpointSlices) Watch(_ context.Context, namespace string, options rest.WatchOptions) (*rest.Watch, error) {
	if err := options.OnlyName(); err != nil {
		return nil, err
	}
	w, err := rest.BeginWatch(e.Objects, storage.Selection{Kind: api.EndpointsKind, Namespace: namespace}, options)
	if err != nil {
		return nil, rest.StatusError(err, discoveryv1.Resource("endpointslices"), "")
	}
	w.New = func() rest.Object {
		return &discoveryv1.EndpointSlice{TypeMeta: metav1.TypeMeta{Kind: "EndpointSlice", APIVersion: discoveryGroup.String()}}
	}
	w.Translate = func(into []rest.Event, change storage.Event) ([]rest.Event, error) {
		return e.translate(into, change, options.ListOptions)
	}
	return w, nil
}

// translate appends the events for a change of endpoints.
func (e endpointSlices) translate(events []rest.Event, change storage.Event, options rest.ListOptions) ([]rest.Event, error) {
	before, err := e.selected(change.Before, options)
	if err != nil {
		return nil, err
	}
	after, err := e.selected(change.After, options)
	if err != nil {
		return nil, err
	}
	was, is := namesOf(before), namesOf(after)
	for _, slice := range before {
		if !is.Has(slice.Name) {
			slice.ResourceVersion = strconv.FormatUint(change.Version, 10)
			events = append(events, rest.Event{Type: watch.Deleted, Object: rest.MakeAnswer(slice)})
		}
	}
	for _, slice := range after {
		eventType := watch.Added
		if was.Has(slice.Name) {
			eventType = watch.Modified
		}
		events = append(events, rest.Event{Type: eventType, Object: rest.MakeAnswer(slice)})
	}
	return events, nil
}

// selected returns the slices of stored endpoints that a list selects.
func (e endpointSlices) selected(stored *storage.Object, options rest.ListOptions) ([]*discoveryv1.EndpointSlice, error) {
	all, err := e.of(stored)
	return slices.DeleteFunc(all, func(slice *discoveryv1.EndpointSlice) bool { return !options.Matches(slice, nil) }), err
}

func namesOf(all []*discoveryv1.EndpointSlice) sets.Set[string] {
	names := sets.Set[string]{}
	for _, slice := range all {
		names.Insert(slice.Name)
	}
	return names
}

// slicesOf returns a slice for each subset. The first one has the name of the service. The names of the others
// include the beginning of their uid, because another service may be named db-1.
func slicesOf(endpoints *corev1.Endpoints) (all []*discoveryv1.EndpointSlice) {
	subsets := endpoints.Subsets
	if len(subsets) == 0 {
		subsets = []corev1.EndpointSubset{{}}
	}
	for i, subset := range subsets {
		slice := &discoveryv1.EndpointSlice{
			TypeMeta:    metav1.TypeMeta{Kind: "EndpointSlice", APIVersion: discoveryGroup.String()},
			ObjectMeta:  *endpoints.ObjectMeta.DeepCopy(),
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{},
		}
		slice.UID = types.UID(api.UIDOf(&api.Endpoints{Name: string(endpoints.UID) + "/" + strconv.Itoa(i)}))
		if i > 0 {
			slice.Name += "-" + string(slice.UID[:5]) + "-" + strconv.Itoa(i)
		}
		slice.Labels = labels.Merge(endpoints.Labels, labels.Set{discoveryv1.LabelServiceName: endpoints.Name, discoveryv1.LabelManagedBy: "endpointslice.kube2014"})
		for _, port := range subset.Ports {
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &port.Name, Port: &port.Port, Protocol: &port.Protocol, AppProtocol: port.AppProtocol})
		}
		addEndpoints(slice, subset.Addresses, true)
		addEndpoints(slice, subset.NotReadyAddresses, false)
		all = append(all, slice)
	}
	return all
}

func addEndpoints(slice *discoveryv1.EndpointSlice, addresses []corev1.EndpointAddress, ready bool) {
	for _, address := range addresses {
		if ip, err := netip.ParseAddr(address.IP); err == nil && ip.Is6() {
			slice.AddressType = discoveryv1.AddressTypeIPv6
		}
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address.IP},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready}, TargetRef: address.TargetRef, NodeName: address.NodeName})
	}
}
