// Package webhook asks a server by POST what it thinks of something, in the form of a review.
package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"kube2014/pkg/util"
	"kube2014/pkg/util/pems"
)

// Client asks one server. It is safe for concurrent use.
type Client struct {
	file  string // that tells of the server; "" for none
	url   string
	http  *http.Transport
	token func() string
}

// New returns a client of the server that a kubeconfig names. An error names the file and the
// field, but no secret.
//
// The server is reached directly, not through a proxy that the environment names. Files
// of a certificate with its key or of a token are read again when they change.
func New(file string) (*Client, error) {
	t, err := readTarget(file)
	if err != nil {
		return nil, err
	}
	security := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.at.ServerName, InsecureSkipVerify: t.at.Insecure}
	c := &Client{file: file, url: t.url.String()}
	if err := errors.Join(t.trust(security), t.identify(security)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if c.token, err = t.readToken(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c.http = newTransport(security, CallTimeout)
	return c, nil
}

// NewAt returns a client of the server at a URL of https, for PostOnce. A pool of nil means the
// authorities that the system trusts. Nobody is told who asks. There may be any number of calls at once:
// one that had to wait for others would have less time.
func NewAt(url string, authorities *x509.CertPool) *Client {
	connections := newTransport(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}, 0)
	connections.MaxConnsPerHost = 0
	return &Client{url: url, http: connections, token: func() string { return "" }}
}

// newTransport returns the connections to one server: what it answers of another place, which is
// not the one that is trusted, is an answer like any other. The timeout bounds how long it takes
// to connect, 0 for no other bound than that of the context.
func newTransport(security *tls.Config, timeout time.Duration) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: timeout}).DialContext,
		TLSClientConfig:        security,
		TLSHandshakeTimeout:    timeout,
		MaxConnsPerHost:        maxCallsAtOnce,
		MaxIdleConnsPerHost:    maxCallsAtOnce,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
}

// maxCallsAtOnce bounds what strangers, whose tokens nobody knows, can ask of the server.
const maxCallsAtOnce = 32

// trust sets whose certificates of the server count.
func (t *target) trust(security *tls.Config) error {
	var err error
	switch {
	case !t.hasCA():
	case t.at.CA == "":
		security.RootCAs, err = pems.Pool("certificate-authority-data", t.at.CAData)
	default:
		if security.RootCAs, err = pems.ReadPool(t.at.CA); err != nil {
			err = wrong("certificate-authority", err)
		}
	}
	return err
}

// identify sets the certificate that the server sees.
func (t *target) identify(security *tls.Config) error {
	if !t.hasCertificate() {
		return nil
	}
	var paths []string
	for _, path := range []string{t.as.Certificate, t.as.Key} {
		if path != "" {
			paths = append(paths, path)
		}
	}
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
