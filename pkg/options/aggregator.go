package options

import (
	"crypto/tls"
	"flag"

	"kube2014/pkg/server/certs"
)

// AggregatorOptions configure how the aggregator sends requests to other servers.
type AggregatorOptions struct {
	ProxyClientCertFile string // the certificate that the server shows to them; "" for none
	ProxyClientKeyFile  string
	RouteToEndpoints    bool
}

// Aggregation is the configuration of the aggregator.
type Aggregation struct {
	// ClientCertificate returns the certificate that other servers know this one by; the func is nil if there is none. It is
	// read again when the files change. The func is safe for concurrent use.
	ClientCertificate func() (*tls.Certificate, error)
	RouteToEndpoints  bool // requests go to the endpoints of a service, not to its cluster IP
}

func (o *AggregatorOptions) addFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.ProxyClientCertFile, "proxy_client_cert_file", "", "")
	flags.StringVar(&o.ProxyClientKeyFile, "proxy_client_key_file", "", "")
	flags.Var(value[bool]{&o.RouteToEndpoints, asBool}, "enable_aggregator_routing", "")
}

func (o *AggregatorOptions) validate(map[string]bool) (errs problems) {
	errs.addIf(o.ProxyClientCertFile != "" && o.ProxyClientKeyFile == "", "%w", needs("proxy_client_cert_file", "proxy_client_key_file"))
	errs.addIf(o.ProxyClientCertFile == "" && o.ProxyClientKeyFile != "", "%w", needs("proxy_client_key_file", "proxy_client_cert_file"))
	return errs
}

// ApplyTo returns the configuration of the aggregator. The error names a flag.
func (o *AggregatorOptions) ApplyTo() (Aggregation, error) {
	aggregation := Aggregation{RouteToEndpoints: o.RouteToEndpoints}
	if o.ProxyClientCertFile == "" {
		return aggregation, nil
	}
	pair, err := certs.ReadPair("the certificate of -proxy_client_cert_file", o.ProxyClientCertFile, o.ProxyClientKeyFile)
	if err != nil {
		return aggregation, inFlag("proxy_client_cert_file", err)
	}
	aggregation.ClientCertificate = func() (*tls.Certificate, error) { return pair.Get(), nil }
	return aggregation, nil
}
