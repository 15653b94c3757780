// Package webhook calls webhooks: it sends a review to a server by POST, and receives it with a status.
package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"

	"kube2014/pkg/util/kubeconfig"
)

// Client calls one server. It is safe for concurrent use.
type Client struct {
	file  string // the kubeconfig; "" for none
	url   string
	http  *http.Transport
	token func() string
}

// New returns a client of the server that a kubeconfig names. An error names the file and the
// field, but no secret.
//
// The client ignores proxies of the environment. Files of a certificate and its key, or of a token,
// are read again when they change.
func New(file string) (*Client, error) {
	target, err := kubeconfig.Read(file)
	if err != nil {
		return nil, err
	}
	return &Client{file: file, url: target.URL.String(), token: target.Token, http: newTransport(target.TLS, CallTimeout)}, nil
}

// NewAt returns a client of the server at an https URL, for PostOnce. A nil pool means the authorities
// of the system. The client sends no credentials. The number of concurrent calls is not limited: a call
// that had to wait would have less time.
func NewAt(url string, authorities *x509.CertPool) *Client {
	connections := newTransport(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}, 0)
	connections.MaxConnsPerHost = 0
	return &Client{url: url, http: connections, token: func() string { return "" }}
}

// newTransport returns the connections to one server. It does not follow redirects, which may lead to
// servers that are not trusted. The timeout is for connecting; 0 means that of the context.
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

// maxCallsAtOnce bounds the load that requests with unknown tokens can cause.
const maxCallsAtOnce = 32
