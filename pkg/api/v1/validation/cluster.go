package validation

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// ValidateEndpoints checks new endpoints.
var ValidateEndpoints = creates(checks.endpoints)

// ValidateEndpointsUpdate checks an update of endpoints.
var ValidateEndpointsUpdate = updates(func(c checks, now, old *corev1.Endpoints) {
	c.MetadataUpdate(&now.ObjectMeta, &old.ObjectMeta)
	c.endpoints(now)
})

func (c checks) endpoints(endpoints *corev1.Endpoints) {
	c.Metadata(&endpoints.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	for i, subset := range endpoints.Subsets {
		at := field.NewPath("subsets").Index(i)
		c.Some(at, len(subset.Addresses)+len(subset.NotReadyAddresses), "must specify `addresses` or `notReadyAddresses`")
		c.addresses(subset.Addresses, at.Child("addresses"))
		c.addresses(subset.NotReadyAddresses, at.Child("notReadyAddresses"))
		for j, port := range subset.Ports {
			at := at.Child("ports").Index(j)
			if port.Name != "" {
				c.Label(at.Child("name"), port.Name)
			} else if len(subset.Ports) > 1 {
				c.Add(field.Required(at.Child("name"), ""))
			}
			c.PortNumber(at.Child("port"), port.Port)
			check.RequireSupported(c.Errors, at.Child("protocol"), port.Protocol, check.Protocols...)
			check.IfSet(at.Child("appProtocol"), port.AppProtocol, c.Qualified)
		}
	}
}

func (c checks) addresses(addresses []corev1.EndpointAddress, at *field.Path) {
	for i, address := range addresses {
		at := at.Index(i)
		c.IP(at.Child("ip"), address.IP)
		c.Optional(at.Child("hostname"), address.Hostname, c.Label)
		check.IfSet(at.Child("nodeName"), address.NodeName, c.Name)
		c.endpointIP(at.Child("ip"), address.IP)
	}
}

// EndpointAddress adds the errors of one of the addresses of an endpoint in a slice.
func EndpointAddress(c *check.Errors, list *field.Path, i int, addressType discoveryv1.AddressType, address string) {
	at := list.Index(i)
	addr, err := netip.ParseAddr(address)
	known := len(c.List)
	switch addressType {
	case discoveryv1.AddressTypeIPv4:
		c.IP(at, address)
		c.InvalidIf(err == nil && !addr.Is4(), list, address, "must be an IPv4 address")
	case discoveryv1.AddressTypeIPv6:
		c.Add(utilvalidation.IsValidIP(at, address)...)
		c.InvalidIf(err == nil && !addr.Is6(), list, address, "must be an IPv6 address")
	case discoveryv1.AddressTypeFQDN:
		c.Add(utilvalidation.IsFullyQualifiedDomainName(at, address)...)
		return
	default:
		return
	}
	if len(c.List) == known {
		checks{c}.endpointIP(at, address)
	}
}

// endpointIP requires a reachable address. It may be a loopback address (K69), which the machines of
// June 2014 and hollow pods have.
func (c checks) endpointIP(at *field.Path, ip string) {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		c.Add(field.Invalid(at, ip, "must be a valid IP address"))
		return
	}
	addr = addr.Unmap()
	c.InvalidIf(addr.IsUnspecified(), at, ip, fmt.Sprintf("may not be unspecified (%v)", ip))
	c.InvalidIf(addr.IsLinkLocalUnicast(), at, ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	c.InvalidIf(addr.IsLinkLocalMulticast(), at, ip, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
}

// externalIP requires an address that other machines can reach.
func (c checks) externalIP(at *field.Path, ip string) {
	c.endpointIP(at, ip)
	addr, err := netip.ParseAddr(ip)
	c.InvalidIf(err == nil && addr.Unmap().IsLoopback(), at, ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
}

// ValidateNode checks a new node.
var ValidateNode = creates(func(c checks, node *corev1.Node) {
	c.Metadata(&node.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	c.taints(node.Spec.Taints)
	c.capacity(&node.Status)
	c.podRanges(node.Spec.PodCIDRs)
})

func (c checks) podRanges(ranges []string) {
	at := field.NewPath("spec", "podCIDRs")
	for i, cidr := range ranges {
		c.CIDR(at.Index(i), cidr)
	}
	c.InvalidIf(len(ranges) > 1 && !dualStackRanges(ranges), at, ranges, "may specify no more than one CIDR for each IP family")
}

func dualStackRanges(ranges []string) bool {
	var ips []string
	for _, cidr := range ranges {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			ips = append(ips, prefix.Addr().String())
		}
	}
	return len(ranges) == 2 && check.DualStack(ips)
}

// ValidateNodeUpdate checks an update of a node, also of its status.
var ValidateNodeUpdate = updates(func(c checks, now, old *corev1.Node) {
	c.MetadataUpdate(&now.ObjectMeta, &old.ObjectMeta)
	c.capacity(&now.Status)
	seen := sets.New[corev1.NodeAddress]()
	for i, address := range now.Status.Addresses {
		c.DuplicateIf(seen.Has(address), field.NewPath("status", "addresses").Index(i), address)
		seen.Insert(address)
	}
	spec, was := &now.Spec, &old.Spec
	c.Forbid(len(was.PodCIDRs) > 0 && !slices.Equal(was.PodCIDRs, spec.PodCIDRs), field.NewPath("spec", "podCIDRs"),
		"node updates may not change podCIDR except from \"\" to valid")
	c.Forbid(was.ProviderID != "" && was.ProviderID != spec.ProviderID, field.NewPath("spec", "providerID"),
		"node updates may not change providerID except from \"\" to valid")
	c.taints(spec.Taints)
	c.podRanges(spec.PodCIDRs)
	c.Forbid(was.DoNotUseExternalID != spec.DoNotUseExternalID, field.NewPath("spec", "externalID"), "may not be updated")
})

func (c checks) capacity(status *corev1.NodeStatus) {
	for _, name := range check.SortedKeys(status.Capacity) {
		c.Quantity(name, status.Capacity[name], field.NewPath("status", "capacity", string(name)))
	}
	for _, name := range check.SortedKeys(status.Allocatable) {
		c.Quantity(name, status.Allocatable[name], field.NewPath("status", "allocatable", string(name)))
	}
}

// taints reports errors at the path that the real server uses.
func (c checks) taints(taints []corev1.Taint) {
	seen := map[[2]string]bool{}
	for i, taint := range taints {
		at := field.NewPath("metadata", "taints").Index(i)
		c.LabelName(at.Child("key"), taint.Key)
		c.LabelValue(at.Child("value"), taint.Value)
		if c.Require(at.Child("effect"), string(taint.Effect)) {
			c.TaintEffect(at.Child("effect"), taint.Effect)
		}
		key := [2]string{taint.Key, string(taint.Effect)}
		if seen[key] {
			err := field.Duplicate(at, taint)
			err.Detail = "taints must be unique by key and effect pair"
			c.Add(err)
		}
		seen[key] = true
	}
}
