// Package options is the command line of the generic server: a group of flags in each file. A group defines its flags,
// validates them, and applies them to the configuration of the server.
package options

import (
	"flag"

	"kube2014/pkg/server"
	"kube2014/pkg/server/certs"
	"kube2014/pkg/server/flags"
)

// SecureServingOptions configure the port with TLS.
type SecureServingOptions struct {
	Port     uint
	Secure   bool // the port is open
	Address  string
	CertFile string
	KeyFile  string
	CertDir  string // of the self-signed certificate, which is used without CertFile

	Shown string // the file with the certificate, once ApplyTo has opened the port
}

func (o *SecureServingOptions) AddFlags(fs *flag.FlagSet) {
	flags.Add(fs, &o.Port, "secure_port", flags.AsPort, 0)
	fs.StringVar(&o.Address, "bind_address", "0.0.0.0", "")
	fs.StringVar(&o.CertFile, "tls_cert_file", "", "")
	fs.StringVar(&o.KeyFile, "tls_private_key_file", "", "")
	fs.StringVar(&o.CertDir, "cert_dir", "/var/run/kubernetes", "")
}

func (o *SecureServingOptions) Validate(given map[string]bool) (errs flags.Problems) {
	if o.Secure = given["secure_port"]; !o.Secure {
		return flags.AllNeed(given, "secure_port", "bind_address", "tls_cert_file", "tls_private_key_file", "cert_dir")
	}
	errs.AddIf(!IsHost(o.Address), "-bind_address: %s is neither a host name nor an IP address", flags.Shown(o.Address))
	errs.AddIf(o.CertFile != "" && o.KeyFile == "", "%w", flags.Needs("tls_cert_file", "tls_private_key_file"))
	errs.AddIf(o.CertFile == "" && o.KeyFile != "", "%w", flags.Needs("tls_private_key_file", "tls_cert_file"))
	return errs
}

// ApplyTo opens the port if it was given, and creates a certificate if there is none. The error names a
// flag.
func (o *SecureServingOptions) ApplyTo(c *server.Config, authentication *AuthenticationOptions) error {
	if !o.Secure {
		return nil
	}
	certFile, keyFile, name := o.CertFile, o.KeyFile, "tls_cert_file"
	if certFile == "" {
		var err error
		name = "cert_dir"
		if certFile, keyFile, err = certs.SelfSigned(o.CertDir, o.Address); err != nil {
			return flags.InFlag(name, err)
		}
	}
	certificate, err := certs.ServingCertificate(certFile, keyFile)
	if err != nil {
		return flags.InFlag(name, err)
	}
	o.Shown = certFile
	c.Secure = &server.Serving{Address: listenAddress(o.Address, o.Port), TLS: certs.TLSConfig(certificate, authentication.wantsClientCerts())}
	return nil
}
