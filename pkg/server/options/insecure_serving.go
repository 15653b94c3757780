package options

import (
	"flag"
	"net"
	"net/netip"
	"regexp"
	"strconv"

	"kube2014/pkg/api"
	"kube2014/pkg/server"
	"kube2014/pkg/server/flags"
)

// InsecureServingOptions configure the port without authentication.
type InsecureServingOptions struct {
	Port     uint
	Address  string
	Insecure bool // false closes the port
}

func (o *InsecureServingOptions) AddFlags(fs *flag.FlagSet) {
	for _, name := range []string{"port", "insecure_port"} {
		flags.Add(fs, &o.Port, name, flags.AsPort, 8080)
	}
	for _, name := range []string{"address", "insecure_bind_address"} {
		fs.StringVar(&o.Address, name, "127.0.0.1", "")
	}
	flags.Add(fs, &o.Insecure, "insecure", flags.AsBool, true)
}

func (o *InsecureServingOptions) Validate(given map[string]bool) (errs flags.Problems) {
	name := "address"
	if given["insecure_bind_address"] {
		name = "insecure_bind_address"
	}
	errs.AddIf(!IsHost(o.Address), "-%s: %s is neither a host name nor an IP address", name, flags.Shown(o.Address))
	for short, long := range map[string]string{"port": "insecure_port", "address": "insecure_bind_address"} {
		errs.AddIf(given[short] && given[long], "-%s: it is another word for -%s: give one of them", long, short)
	}
	return errs
}

// ListenAddress returns the address of the port.
func (o *InsecureServingOptions) ListenAddress() string { return listenAddress(o.Address, o.Port) }

// ApplyTo opens the port unless -insecure=false closes it.
func (o *InsecureServingOptions) ApplyTo(c *server.Config) {
	if o.Insecure {
		c.Insecure = &server.Serving{Address: o.ListenAddress()}
	}
}

func listenAddress(host string, port uint) string {
	return net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10))
}

var looksLikeAnIP = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+$`)

// IsHost reports whether a text is an IP address or a host name. Host names must be valid ids, since
// both are parts of keys and URLs.
func IsHost(text string) bool {
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.Zone() == ""
	}
	return api.ValidateID(text) == nil && !looksLikeAnIP.MatchString(text)
}
