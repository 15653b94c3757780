package options

import (
	"crypto/tls"
	"flag"

	"kube2014/pkg/server/certs"
	"kube2014/pkg/server/flags"
)

// AggregatorOptions configure how the aggregator sends requests to other servers.
type AggregatorOptions struct {
	ProxyClientCertFile string // the certificate that the server shows to them; "" for none
	ProxyClientKeyFile  string
	RouteToEndpoints    bool // requests go to the endpoints of a service, not to its cluster IP
}

func (o *AggregatorOptions) AddFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.ProxyClientCertFile, "proxy_client_cert_file", "", "")
	fs.StringVar(&o.ProxyClientKeyFile, "proxy_client_key_file", "", "")
	flags.Add(fs, &o.RouteToEndpoints, "enable_aggregator_routing", flags.AsBool, false)
}

func (o *AggregatorOptions) Validate(map[string]bool) (errs flags.Problems) {
	errs.AddIf(o.ProxyClientCertFile != "" && o.ProxyClientKeyFile == "", "%w", flags.Needs("proxy_client_cert_file", "proxy_client_key_file"))
	errs.AddIf(o.ProxyClientCertFile == "" && o.ProxyClientKeyFile != "", "%w", flags.Needs("proxy_client_key_file", "proxy_client_cert_file"))
	return errs
}

// ApplyTo returns a function that returns the certificate that other servers know this one by, nil if there is none. It is
// read again when the files change. The function is safe for concurrent use. The error names a flag.
func (o *AggregatorOptions) ApplyTo() (clientCertificate func() (*tls.Certificate, error), err error) {
	if o.ProxyClientCertFile == "" {
		return nil, nil
	}
	pair, err := certs.ReadPair("the certificate of -proxy_client_cert_file", o.ProxyClientCertFile, o.ProxyClientKeyFile)
	if err != nil {
		return nil, flags.InFlag("proxy_client_cert_file", err)
	}
	return func() (*tls.Certificate, error) { return pair.Get(), nil }, nil
}
