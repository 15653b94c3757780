// Package kubeconfig reads the server and the credentials of a client.
package kubeconfig

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"kube2014/pkg/util"
	"kube2014/pkg/util/pems"
)

// Target is the server that the current context of a kubeconfig names.
type Target struct {
	URL   *url.URL
	TLS   *tls.Config   // for a URL of https
	Token func() string // returns the bearer token, "" for none; safe for concurrent use
}

// Read reads a kubeconfig. An error names the file and the field, but contains no secret. Paths in the
// file are relative to it. Files of a certificate and its key, or of a token, are read again when they
// change.
func Read(file string) (*Target, error) {
	t, err := readTarget(file)
	if err != nil {
		return nil, err
	}
	read := &Target{URL: t.url, TLS: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.at.ServerName, InsecureSkipVerify: t.at.Insecure}}
	if err = errors.Join(t.trust(read.TLS), t.identify(read.TLS)); err == nil {
		read.Token, err = t.readToken()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return read, nil
}

// trust sets the authorities of the server's certificate.
func (t *target) trust(security *tls.Config) (err error) {
	switch {
	case t.at.CA != "":
		if security.RootCAs, err = pems.ReadPool(t.at.CA); err != nil {
			err = wrong("certificate-authority", err)
		}
	case t.at.CAData != nil:
		security.RootCAs, err = pems.Pool("certificate-authority-data", t.at.CAData)
	}
	return err
}

// identify sets the certificate of the client.
func (t *target) identify(security *tls.Config) error {
	if !t.hasCertificate() {
		return nil
	}
	paths := slices.DeleteFunc([]string{t.as.Certificate, t.as.Key}, func(path string) bool { return path == "" })
	pair, err := util.Reload("the client certificate of "+t.file, t.readPair, paths...)
	if err != nil {
		return err
	}
	security.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.Get(), nil }
	return nil
}

func (t *target) readPair() (*tls.Certificate, error) {
	certificate, key := t.as.CertificateData, t.as.KeyData
	var err error
	if t.as.Certificate != "" {
		if certificate, err = pems.Read(t.as.Certificate); err != nil {
			return nil, wrong("client-certificate", err)
		}
	}
	if t.as.Key != "" {
		if key, err = pems.Read(t.as.Key); err != nil {
			return nil, wrong("client-key", err)
		}
	}
	return pems.Pair("client-certificate", certificate, "client-key", key)
}

// readToken returns a function that returns the token, "" if there is none.
func (t *target) readToken() (func() string, error) {
	if t.as.TokenFile == "" {
		return func() string { return t.as.Token }, nil
	}
	read := func() (string, error) {
		text, err := os.ReadFile(t.as.TokenFile)
		if err != nil {
			return "", wrong("tokenFile", err)
		}
		token := strings.TrimSpace(string(text))
		if token == "" {
			return "", wrong("tokenFile", errors.New(t.as.TokenFile+" is empty"))
		}
		return token, checkToken(token)
	}
	token, err := util.Reload("the token of "+t.file, read, t.as.TokenFile)
	if err != nil {
		return nil, err
	}
	return token.Get, nil
}
