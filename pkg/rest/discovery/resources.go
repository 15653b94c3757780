// Package discovery has endpoint slices: where the pods of services are.
package discovery

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = discoveryv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource { return endpointslices.Rows(b) }

var endpointslices = generic.Kind[*discoveryv1.EndpointSlice]{
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
			if port.Name == nil {
				port.Name = new(string)
			}
			if port.Protocol == nil {
				tcp := corev1.ProtocolTCP
				port.Protocol = &tcp
			}
		}
	},
	Rules: func(c *check.Errors, now, old *discoveryv1.EndpointSlice) {
		check.RequireSupported(c, field.NewPath("addressType"), now.AddressType, discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
		ports(c, now.Ports, field.NewPath("ports"))
		if old == nil || !equality.Semantic.DeepEqual(now.Endpoints, old.Endpoints) {
			endpoints(c, now, field.NewPath("endpoints"))
		}
		if old != nil {
			c.Add(apivalidation.ValidateImmutableField(now.AddressType, old.AddressType, field.NewPath("addressType"))...)
		}
	},
}

// The bounds of a slice, and of an endpoint.
const (
	maxPorts, maxEndpoints = 20_000, 1000
	maxAddresses, maxHints = 100, 8
)

func ports(c *check.Errors, ports []discoveryv1.EndpointPort, at *field.Path) {
	if len(ports) > maxPorts {
		c.Add(field.TooMany(at, len(ports), maxPorts))
		return
	}
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
	if len(slice.Endpoints) > maxEndpoints {
		c.Add(field.TooMany(at, len(slice.Endpoints), maxEndpoints))
		return
	}
	for i := range slice.Endpoints {
		endpoint, at := &slice.Endpoints[i], at.Index(i)
		addresses(c, slice.AddressType, endpoint.Addresses, at.Child("addresses"))
		if endpoint.NodeName != nil {
			c.Name(at.Child("nodeName"), *endpoint.NodeName, false)
		}
		c.Add(metavalidation.ValidateLabels(endpoint.DeprecatedTopology, at.Child("deprecatedTopology"))...)
		if endpoint.Hostname != nil {
			c.Label(at.Child("hostname"), *endpoint.Hostname)
		}
		if endpoint.Hints != nil {
			hints(c, endpoint.Hints, at.Child("hints"))
		}
	}
}

func addresses(c *check.Errors, addressType discoveryv1.AddressType, addresses []string, at *field.Path) {
	c.Some(at, len(addresses), "must contain at least 1 address")
	if len(addresses) > maxAddresses {
		c.Add(field.TooMany(at, len(addresses), maxAddresses))
		return
	}
	for i, address := range addresses {
		validation.EndpointAddress(c, at, i, addressType, address)
	}
}

// hints checks the zones and the nodes that an endpoint is meant for.
func hints(c *check.Errors, hints *discoveryv1.EndpointHints, at *field.Path) {
	zones, nodes := at.Child("forZones"), at.Child("forNodes")
	if len(hints.ForZones) > maxHints {
		c.Add(field.TooMany(zones, len(hints.ForZones), maxHints))
		return
	}
	seen := check.Unique{}
	for i, zone := range hints.ForZones {
		at := zones.Index(i).Child("name")
		seen.Check(c, at, zone.Name)
		c.LabelValue(at, zone.Name)
	}
	if len(hints.ForNodes) > maxHints {
		c.Add(field.TooMany(nodes, len(hints.ForNodes), maxHints))
		return
	}
	seen = check.Unique{}
	for i, node := range hints.ForNodes {
		at := nodes.Index(i).Child("name")
		seen.Check(c, at, node.Name)
		c.Name(at, node.Name, false)
	}
}
