package master

import (
	"cmp"
	"log"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	"kube2014/pkg/options"
	"kube2014/pkg/ui"
)

// servesToday reports whether today's API is served. It is not if the prefix of June 2014's
// API, whose flag is older, includes one of its paths.
func servesToday(o *options.ServerRunOptions) bool {
	prefix := o.Generic.Prefix
	hidden := o.APIEnablement.Serves(options.June2014) && prefix != "" &&
		slices.ContainsFunc([]string{"/api/v1/", "/apis", "/openapi", "/version", "/livez", "/readyz", ui.Path},
			func(path string) bool { return strings.HasPrefix(path, prefix) })
	return o.APIEnablement.Serves(options.Today) && !hidden
}

// pathsInWords returns the paths of the APIs and of the page, for the log.
func pathsInWords(o *options.ServerRunOptions) string {
	var paths []string
	if o.APIEnablement.Serves(options.June2014) {
		paths = append(paths, cmp.Or(o.Generic.Prefix, "/"))
	}
	if servesToday(o) {
		paths = append(paths, "/api/"+v1.Version, ui.Path)
	}
	return cmp.Or(strings.Join(paths, " and "), "/ without a version of the API")
}

// announce logs the addresses and paths of the server, and completes what depends on them: the port that the service
// kubernetes leads to, and the metadata of the issuer. An address is nil if its port is closed.
func (m *Master) announce(insecure, secure net.Addr) {
	o := m.o
	var at []string
	if insecure != nil {
		at = append(at, "http://"+insecure.String())
	}
	if secure != nil {
		m.securePort = secure.(*net.TCPAddr).AddrPort().Port()
		at = append(at, "https://"+secure.String())
	}
	if d := o.Authentication.Discovery; d != nil && d.KeysURI == "" {
		d.KeysURI = "https://" + known(secure) + serviceaccount.KeysPath
	}
	paths := pathsInWords(o)
	log.Printf("kube2014 apiserver %s serves %s: registry %s, scheduler %s, machines %s",
		m.config.Version, strings.Join(at, paths+", ")+paths, m.Stores.Name, o.Generic.Scheduler, o.Generic.MachinesInWords())
	if o.Parts.Around() && m.Today != nil {
		around := slices.DeleteFunc(slices.Clone(o.Parts.Parts), func(part string) bool { return part == options.PartAPIServer })
		log.Printf("in the same process: %s; see %s", strings.Join(around, ", "), at[0]+ui.Path)
	}
	if insecure != nil && reachableByOthers(insecure) {
		log.Printf("warning: -address %s is not a loopback address, and there is no authentication: whoever reaches it may change everything", o.InsecureServing.Address)
	}
}

// reachableByOthers reports whether other machines may reach an address.
func reachableByOthers(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

// known returns an address that others can use. All addresses have the name of the machine.
func known(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if hostname, err := os.Hostname(); ok && err == nil && tcp.IP.IsUnspecified() {
		return net.JoinHostPort(hostname, strconv.Itoa(tcp.Port))
	}
	return address.String()
}
