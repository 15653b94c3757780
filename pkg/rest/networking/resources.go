// Package networking gives services their addresses and node ports, and serves the resources of the group
// networking.k8s.io that show them.
package networking

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

var group = networkingv1.SchemeGroupVersion

var addressRow = rest.ClusterScoped(group, "IPAddress", string(addressKind), printers.IPAddresses, "ip")

var cidrs = generic.Resource[*networkingv1.ServiceCIDR]{
	Row: rest.ClusterScoped(group, "ServiceCIDR", "servicecidrs", printers.ServiceCIDRs),
	Validate: func(c *check.Errors, now, old *networkingv1.ServiceCIDR) {
		all := now.Spec.CIDRs
		changed := old != nil && (len(all) != 1 || all[0] != old.Spec.CIDRs[0])
		c.InvalidIf(changed, field.NewPath("spec", "cidrs").Index(0), all[:min(1, len(all))], "field is immutable")
	},
}

// readOnly has the verbs of objects that only the server writes.
type readOnly struct {
	rest.Getter
	rest.Lister
	rest.Watcher
}

// blocks is the storage of blocks of addresses. There is one, that of the server's ranges: clients cannot create or delete
// them.
type blocks struct {
	readOnly
	rest.Updater
}

// Resources returns the table.
func Resources(b rest.Base) []rest.Resource {
	addresses := genericregistry.NewStore(b, addressRow, genericregistry.Strategy[*networkingv1.IPAddress]{})
	store, rows := cidrs.Build(b)
	rows[0] = cidrs.Row.With(blocks{readOnly{store, store, store}, store})
	return slices.Concat(ingresses.Rows(b), ingressClasses.Rows(b), networkPolicies.Rows(b), rows, []rest.Resource{addressRow.With(readOnly{addresses, addresses, addresses})})
}

// Bootstrap creates the block of the server's ranges, unless there is one. It is safe to run on several servers at once.
func Bootstrap(ctx context.Context, b rest.Base, ranges Ranges) error {
	block := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{ranges.ClusterIPs.String()}}}
	meta.SetStatusCondition(&block.Status.Conditions, metav1.Condition{Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
		Message: "Kubernetes default Service CIDR is ready", LastTransitionTime: metav1.Time{Time: b.Now().UTC()}})
	store, _ := cidrs.Build(b)
	return store.With(genericregistry.Strategy[*networkingv1.ServiceCIDR]{}).Ensure(ctx, block) // with its status
}

var networkPolicies = generic.Resource[*networkingv1.NetworkPolicy]{
	Row:           rest.InNamespaces(group, "NetworkPolicy", "networkpolicies", printers.NetworkPolicies, "netpol"),
	HasGeneration: true,
	Default: func(policy *networkingv1.NetworkPolicy) {
		spec := &policy.Spec
		if len(spec.PolicyTypes) == 0 {
			spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
			if len(spec.Egress) > 0 {
				spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
			}
		}
		for i := range spec.Ingress {
			overTCP(spec.Ingress[i].Ports)
		}
		for i := range spec.Egress {
			overTCP(spec.Egress[i].Ports)
		}
	},
	Validate: func(c *check.Errors, now, _ *networkingv1.NetworkPolicy) {
		spec, at := &now.Spec, field.NewPath("spec")
		c.Selector(at.Child("podSelector"), &spec.PodSelector)
		for i, rule := range spec.Ingress {
			traffic(c, rule.Ports, rule.From, at.Child("ingress").Index(i), "from")
		}
		for i, rule := range spec.Egress {
			traffic(c, rule.Ports, rule.To, at.Child("egress").Index(i), "to")
		}
		c.InvalidIf(len(spec.PolicyTypes) > 2, at.Child("policyTypes"), spec.PolicyTypes, "may not specify more than two policyTypes")
	},
}

func overTCP(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		ports[i].Protocol = cmp.Or(ports[i].Protocol, new(corev1.ProtocolTCP))
	}
}

// traffic checks the ports and the peers of a rule. The name is that of the field of the peers.
func traffic(c *check.Errors, ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer, at *field.Path, name string) {
	for i, port := range ports {
		at := at.Child("ports").Index(i)
		if port.Port != nil {
			c.Port(at.Child("port"), *port.Port)
		}
		if end := port.EndPort; end != nil {
			endPort(c, port.Port, *end, at.Child("endPort"))
		}
	}
	for i, peer := range peers {
		at := at.Child(name).Index(i)
		c.Selector(at.Child("podSelector"), peer.PodSelector)
		c.Selector(at.Child("namespaceSelector"), peer.NamespaceSelector)
		bySelector := peer.PodSelector != nil || peer.NamespaceSelector != nil
		if peer.IPBlock != nil {
			ipBlock(c, peer.IPBlock, at.Child("ipBlock"))
		}
		c.RequiredIf(peer.IPBlock == nil && !bySelector, at, "must specify a peer")
		c.Forbid(peer.IPBlock != nil && bySelector, at, "may not specify both ipBlock and another peer")
	}
}

// endPort checks the end of a range of ports that begins with a port, nil for none.
func endPort(c *check.Errors, port *intstr.IntOrString, end int32, at *field.Path) {
	switch {
	case port == nil:
		c.Add(field.Invalid(at, end, "may not be specified when `port` is not specified"))
	case port.Type == intstr.String:
		c.Add(field.Invalid(at, end, "may not be specified when `port` is non-numeric"))
	default:
		c.InvalidIf(end < port.IntVal, at, port.IntVal, "must be greater than or equal to `port`")
		c.PortNumber(at, end)
	}
}

func ipBlock(c *check.Errors, block *networkingv1.IPBlock, at *field.Path) {
	if !c.Require(at.Child("cidr"), block.CIDR) {
		return
	}
	c.CIDR(at.Child("cidr"), block.CIDR)
	whole, err := netip.ParsePrefix(block.CIDR)
	for i, text := range block.Except {
		at := at.Child("except").Index(i)
		c.CIDR(at, text)
		part, partErr := netip.ParsePrefix(text)
		inside := whole.Contains(part.Addr()) && whole.Bits() < part.Bits()
		c.InvalidIf(err == nil && partErr == nil && !inside, at, text, "must be a strict subset of `cidr`")
	}
}
