package options

import (
	"cmp"
	"flag"
	"net"
	"net/netip"
	"strings"

	"kube2014/pkg/rest/networking"
	"kube2014/pkg/server/flags"
	genericoptions "kube2014/pkg/server/options"
)

// ServiceOptions configure the services of today's API.
type ServiceOptions struct {
	Ranges    networking.Ranges // without a range of cluster IPs, services have neither those nor node ports
	Advertise netip.Addr        // where pods reach the secure port

	clusterIPs, nodePorts, advertise string
}

func (o *ServiceOptions) AddFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.clusterIPs, "service_cluster_ip_range", "", "")
	fs.StringVar(&o.nodePorts, "service_node_port_range", "30000-32767", "")
	fs.StringVar(&o.advertise, "advertise_address", "", "")
}

func (o *ServiceOptions) Validate(given map[string]bool) (errs flags.Problems) {
	errs.AddIf(given["service_node_port_range"] && !given["service_cluster_ip_range"], "%w", flags.Needs("service_node_port_range", "service_cluster_ip_range"))
	errs.AddIf(given["advertise_address"] && !given["secure_port"], "%w", flags.Needs("advertise_address", "secure_port"))
	if given["service_cluster_ip_range"] {
		block, err := netip.ParsePrefix(o.clusterIPs)
		bits := block.Addr().BitLen() - block.Bits()
		errs.AddIf(err != nil || bits < networking.MinBits || bits > networking.MaxBits,
			"-service_cluster_ip_range: %s is not one block of %d to %d addresses, like 10.0.0.0/16", flags.Shown(o.clusterIPs), 1<<networking.MinBits, 1<<networking.MaxBits)
		first, last, _ := strings.Cut(o.nodePorts, "-")
		from, err := flags.AsPort(first)
		to, invalid := flags.AsPort(last)
		errs.AddIf(cmp.Or(err, invalid) != nil || from == 0 || from > to, "-service_node_port_range: %s is not a range of ports like 30000-32767", flags.Shown(o.nodePorts))
		o.Ranges = networking.Ranges{ClusterIPs: block.Masked(), FirstPort: int(from), LastPort: int(to)}
	}
	if given["advertise_address"] {
		address, err := netip.ParseAddr(o.advertise)
		errs.AddIf(err != nil || address.Zone() != "" || address.IsUnspecified(), "-advertise_address: %s is not an address that others reach", flags.Shown(o.advertise))
		o.Advertise = address
	}
	return errs
}

// AdvertisedAddress returns where pods reach the secure port. The default is its own address, or the first one of this
// machine if it is open at all of them.
func (o *ServiceOptions) AdvertisedAddress(serving *genericoptions.SecureServingOptions) netip.Addr {
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
