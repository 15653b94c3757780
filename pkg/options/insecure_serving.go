package options

import (
	"flag"
	"net"
	"strconv"

	"kube2014/pkg/server"
)

// InsecureServingOptions configure the port without authentication.
type InsecureServingOptions struct {
	Port     uint
	Address  string
	Insecure bool // false closes the port
}

func (o *InsecureServingOptions) addFlags(flags *flag.FlagSet) {
	for _, name := range []string{"port", "insecure_port"} {
		add(flags, &o.Port, name, asPort, 8080)
	}
	for _, name := range []string{"address", "insecure_bind_address"} {
		flags.StringVar(&o.Address, name, "127.0.0.1", "")
	}
	add(flags, &o.Insecure, "insecure", asBool, true)
}

func (o *InsecureServingOptions) validate(given map[string]bool) (errs problems) {
	name := "address"
	if given["insecure_bind_address"] {
		name = "insecure_bind_address"
	}
	errs.addIf(!isHost(o.Address), "-%s: %s is neither a host name nor an IP address", name, shown(o.Address))
	for short, long := range map[string]string{"port": "insecure_port", "address": "insecure_bind_address"} {
		errs.addIf(given[short] && given[long], "-%s: it is another word for -%s: give one of them", long, short)
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
