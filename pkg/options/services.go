package options

import (
	"cmp"
	"flag"
	"net"
	"net/netip"
	"strings"

	"kube2014/pkg/rest/networking"
)

// ServiceOptions configure the services of today's API.
type ServiceOptions struct {
	Ranges    networking.Ranges // without a range of cluster IPs, services have neither those nor node ports
	Advertise netip.Addr        // where pods reach the secure port

	clusterIPs, nodePorts, advertise string
}

func (o *ServiceOptions) addFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.clusterIPs, "service_cluster_ip_range", "", "")
	flags.StringVar(&o.nodePorts, "service_node_port_range", "30000-32767", "")
	flags.StringVar(&o.advertise, "advertise_address", "", "")
}

func (o *ServiceOptions) validate(given map[string]bool) (errs problems) {
	errs.addIf(given["service_node_port_range"] && !given["service_cluster_ip_range"], "%w", needs("service_node_port_range", "service_cluster_ip_range"))
	errs.addIf(given["advertise_address"] && !given["secure_port"], "%w", needs("advertise_address", "secure_port"))
	if given["service_cluster_ip_range"] {
		block, err := netip.ParsePrefix(o.clusterIPs)
		bits := block.Addr().BitLen() - block.Bits()
		errs.addIf(err != nil || bits < networking.MinBits || bits > networking.MaxBits,
			"-service_cluster_ip_range: %s is not one block of %d to %d addresses, like 10.0.0.0/16", shown(o.clusterIPs), 1<<networking.MinBits, 1<<networking.MaxBits)
		first, last, _ := strings.Cut(o.nodePorts, "-")
		from, err := asPort(first)
		to, invalid := asPort(last)
		errs.addIf(cmp.Or(err, invalid) != nil || from == 0 || from > to, "-service_node_port_range: %s is not a range of ports like 30000-32767", shown(o.nodePorts))
		o.Ranges = networking.Ranges{ClusterIPs: block.Masked(), FirstPort: int(from), LastPort: int(to)}
	}
	if given["advertise_address"] {
		address, err := netip.ParseAddr(o.advertise)
		errs.addIf(err != nil || address.Zone() != "" || address.IsUnspecified(), "-advertise_address: %s is not an address that others reach", shown(o.advertise))
		o.Advertise = address
	}
	return errs
}

// AdvertisedAddress returns where pods reach the secure port. The default is its own address, or the first one of this
// machine if it is open at all of them.
func (o *ServiceOptions) AdvertisedAddress(serving *SecureServingOptions) netip.Addr {
	if o.Advertise.IsValid() {
		return o.Advertise
	}
	if own, err := netip.ParseAddr(serving.Address); err == nil && !own.IsUnspecified() {
		return own
	}
	all, _ := net.InterfaceAddrs()
	for _, one := range all {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr()
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
