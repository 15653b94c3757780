package certs

import "crypto/tls"

// suites are the cipher suites of TLS 1.2 with forward secrecy and authenticated encryption: Go's defaults
// without CBC and SHA-1. The suites of TLS 1.3 cannot be configured.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// TLSConfig returns the configuration of a server: TLS 1.2 or newer, with HTTP/2. With requestClientCerts
// clients may send a certificate, which is not verified here but by an authenticator.
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
