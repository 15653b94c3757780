package certs

import "crypto/tls"

// suites are those of TLS 1.2: forward secret, and authenticated. Of those that Go allows by
// default, the ones with CBC and SHA-1 are missing. Those of TLS 1.3 cannot be chosen.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// TLSConfig returns how a server speaks TLS: 1.2 or newer, with HTTP/2. It asks clients for
// certificates if the flags say so, and takes any, or none: whose they are, and whether they are
// worth anything, an authenticator finds out.
func TLSConfig(certificate GetCertificate, requestClientCerts bool) *tls.Config {
	config := &tls.Config{
		GetCertificate: certificate,
		MinVersion:     tls.VersionTLS12,
		CipherSuites:   suites,
		NextProtos:     []string{"h2", "http/1.1"},
	}
	if requestClientCerts {
		config.ClientAuth = tls.RequestClientCert
	}
	return config
}
