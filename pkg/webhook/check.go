package webhook

import (
	"errors"
	"net/url"
)

// check tells which fields are wrong, or contradict each other.
func (t *target) check() error {
	parsed, err := url.Parse(t.at.Server)
	switch {
	case err != nil, parsed.Host == "", parsed.Scheme != "http" && parsed.Scheme != "https":
		return wrong("server", errors.New("is no URL of http or https"))
	case parsed.User != nil:
		return wrong("server", errors.New("has a user in its URL"))
	case parsed.Fragment != "":
		return wrong("server", errors.New("has a fragment in its URL"))
	}
	t.url = parsed
	for _, pair := range []struct {
		field, other string
		both         bool
	}{
		{"certificate-authority", "certificate-authority-data", t.at.CA != "" && t.at.CAData != nil},
		{"client-certificate", "client-certificate-data", t.as.Certificate != "" && t.as.CertificateData != nil},
		{"client-key", "client-key-data", t.as.Key != "" && t.as.KeyData != nil},
		{"token", "tokenFile", t.as.Token != "" && t.as.TokenFile != ""},
		{"insecure-skip-tls-verify", "certificate-authority", t.at.Insecure && t.hasCA()},
	} {
		if pair.both {
			return wrong(pair.field, errors.New("contradicts "+pair.other))
		}
	}
	if t.hasCertificate() != (t.as.Key != "" || t.as.KeyData != nil) {
		return wrong("client-certificate", errors.New("a certificate needs its key, and a key its certificate"))
	}
	if parsed.Scheme == "http" && (t.hasCA() || t.hasCertificate() || t.at.Insecure || t.at.ServerName != "") {
		return wrong("server", errors.New("is no URL of https, so its certificates would not be used"))
	}
	return checkToken(t.as.Token)
}

func (t *target) hasCA() bool { return t.at.CA != "" || t.at.CAData != nil }

func (t *target) hasCertificate() bool { return t.as.Certificate != "" || t.as.CertificateData != nil }

// checkToken checks that a token can stand in a header.
func checkToken(token string) error {
	for _, char := range []byte(token) {
		if char <= ' ' || char > '~' {
			return wrong("token", errors.New("has a character that no token has"))
		}
	}
	return nil
}
