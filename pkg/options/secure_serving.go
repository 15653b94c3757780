package options

import (
	"flag"

	"kube2014/pkg/server"
	"kube2014/pkg/server/certs"
)

// SecureServingOptions configure the port with TLS.
type SecureServingOptions struct {
	Port     uint
	Secure   bool // the port is open
	Address  string
	CertFile string
	KeyFile  string
	CertDir  string // of the self-signed certificate, which is used without CertFile

	shown string // the file with the certificate, once ApplyTo has opened the port
}

func (o *SecureServingOptions) addFlags(flags *flag.FlagSet) {
	add(flags, &o.Port, "secure_port", asPort, 0)
	flags.StringVar(&o.Address, "bind_address", "0.0.0.0", "")
	flags.StringVar(&o.CertFile, "tls_cert_file", "", "")
	flags.StringVar(&o.KeyFile, "tls_private_key_file", "", "")
	flags.StringVar(&o.CertDir, "cert_dir", "/var/run/kubernetes", "")
}

func (o *SecureServingOptions) validate(given map[string]bool) (errs problems) {
	if o.Secure = given["secure_port"]; !o.Secure {
		return allNeed(given, "secure_port", "bind_address", "tls_cert_file", "tls_private_key_file", "cert_dir")
	}
	errs.addIf(!isHost(o.Address), "-bind_address: %s is neither a host name nor an IP address", shown(o.Address))
	errs.addIf(o.CertFile != "" && o.KeyFile == "", "%w", needs("tls_cert_file", "tls_private_key_file"))
	errs.addIf(o.CertFile == "" && o.KeyFile != "", "%w", needs("tls_private_key_file", "tls_cert_file"))
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
			return inFlag(name, err)
		}
	}
	certificate, err := certs.ServingCertificate(certFile, keyFile)
	if err != nil {
		return inFlag(name, err)
	}
	o.shown = certFile
	c.Secure = &server.Serving{Address: listenAddress(o.Address, o.Port), TLS: certs.TLSConfig(certificate, authentication.wantsClientCerts())}
	return nil
}
