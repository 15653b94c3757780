// Package webhook asks a server by POST what it thinks of something, in the form of a review.
package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"

	"kube2014/pkg/util/kubeconfig"
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
	target, err := kubeconfig.Read(file)
	if err != nil {
		return nil, err
	}
	return &Client{file: file, url: target.URL.String(), token: target.Token, http: newTransport(target.TLS, CallTimeout)}, nil
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
