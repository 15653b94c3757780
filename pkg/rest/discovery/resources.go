// Package discovery has endpoint slices: where the pods of services are.
package discovery

import (
	"cmp"
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = discoveryv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b rest.Base) []rest.Resource { return endpointslices.Rows(b) }

var endpointslices = generic.Resource[*discoveryv1.EndpointSlice]{
	Row: rest.InNamespaces(group, "EndpointSlice", "endpointslices", printers.EndpointSlices),
	Prepare: func(now, old *discoveryv1.EndpointSlice) {
		switch {
		case old == nil:
			now.Generation = 1
		case !equality.Semantic.DeepEqual(now.Endpoints, old.Endpoints) || !equality.Semantic.DeepEqual(now.Ports, old.Ports) ||
			now.AddressType != old.AddressType || !maps.Equal(now.Labels, old.Labels):
			now.Generation = old.Generation + 1
		default:
			return
		}
		for i := range now.Endpoints {
			now.Endpoints[i].DeprecatedTopology = nil
		}
	},
	Default: func(slice *discoveryv1.EndpointSlice) {
		for i := range slice.Ports {
			port := &slice.Ports[i]
			port.Name, port.Protocol = cmp.Or(port.Name, new("")), cmp.Or(port.Protocol, new(corev1.ProtocolTCP))
		}
	},
	Validate: func(c *check.Errors, now, old *discoveryv1.EndpointSlice) {
		check.RequireSupported(c, field.NewPath("addressType"), now.AddressType, discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
		ports(c, now.Ports, field.NewPath("ports"))
		if old == nil || !equality.Semantic.DeepEqual(now.Endpoints, old.Endpoints) {
			endpoints(c, now, field.NewPath("endpoints"))
		}
	},
}

func ports(c *check.Errors, ports []discoveryv1.EndpointPort, at *field.Path) {
	names := check.Unique{}
	for i, port := range ports {
		at := at.Index(i)
		if *port.Name != "" {
			c.Label(at.Child("name"), *port.Name)
		}
		names.Check(c, at.Child("name"), *port.Name)
		check.Supported(c, at.Child("protocol"), *port.Protocol, check.Protocols...)
		if port.AppProtocol != nil {
			c.Qualified(at.Child("appProtocol"), *port.AppProtocol)
		}
	}
}

func endpoints(c *check.Errors, slice *discoveryv1.EndpointSlice, at *field.Path) {
	for i, endpoint := range slice.Endpoints {
		at := at.Index(i)
		c.Some(at.Child("addresses"), len(endpoint.Addresses), "must contain at least 1 address")
		for j, address := range endpoint.Addresses {
			validation.EndpointAddress(c, at.Child("addresses"), j, slice.AddressType, address)
		}
		if endpoint.NodeName != nil {
			c.Name(at.Child("nodeName"), *endpoint.NodeName)
		}
		if endpoint.Hostname != nil {
			c.Label(at.Child("hostname"), *endpoint.Hostname)
		}
	}
}
