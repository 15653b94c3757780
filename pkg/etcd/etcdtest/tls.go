package etcdtest

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"path/filepath"
	"testing"

	"kube2014/pkg/util/certtest"
)

// TLS are the files of an authority, and of certificates that it has signed: of members
// on 127.0.0.1, and of a client.
type TLS struct {
	CAFile, CertFile, KeyFile string // for clients

	serverCert, serverKey string
	client                *tls.Config
}

// MakeTLS creates an authority and its certificates, and writes the files.
func MakeTLS(t testing.TB) *TLS {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) (path string) {
		path = filepath.Join(dir, name)
		certtest.Replace(t, path, text)
		return path
	}
	authority := certtest.Authority(t, "ca")
	server := authority.Client(t, "etcd", func(template *x509.Certificate) {
		// etcd calls itself with the certificate of a server, for its HTTP API: it is a client, too.
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	})
	client := authority.Client(t, "client", nil)
	return &TLS{
		CAFile: write("ca.pem", authority.CertPEM), CertFile: write("client.pem", client.CertPEM), KeyFile: write("client-key.pem", client.KeyPEM),
		serverCert: write("server.pem", server.CertPEM), serverKey: write("server-key.pem", server.KeyPEM),
		client: &tls.Config{RootCAs: authority.Pool(), Certificates: []tls.Certificate{client.Certificate}},
	}
}
