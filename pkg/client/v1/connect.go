package v1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"kube2014/pkg/util/kubeconfig"
)

// ErrMaster is the error of a server's address that is no URL of http or https.
var ErrMaster = errors.New("is no URL of http or https, such as http://127.0.0.1:8080")

const (
	connectTimeout = 10 * time.Second
	// idleTime is shorter than the ten seconds after which our server closes a connection: a request on
	// one that is about to be closed would fail.
	idleTime = 5 * time.Second
	// maxIdle is the number of idle connections to the server.
	maxIdle = 100
)

// Connect returns a client of a server elsewhere: that of a kubeconfig, or the one at an address,
// which counts more. Either may be empty. An error is ErrMaster, or one of the kubeconfig, which
// names the file and the field. The server is reached directly, not through a proxy that the
// environment names.
func Connect(master, file, userAgent string) (*Client, error) {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: maxIdle,
		IdleConnTimeout:     idleTime,
	}
	c := &Client{Host: master, HTTP: &http.Client{Transport: transport}, UserAgent: userAgent}
	if file != "" {
		target, err := kubeconfig.Read(file)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = target.TLS
		c.HTTP.Transport = &authorized{transport, target.Token}
		if master == "" {
			c.Host = target.URL.String()
		}
	}
	at, err := url.Parse(c.Host)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
		return nil, ErrMaster
	}
	return c, nil
}

// authorized sends a bearer token with each request.
type authorized struct {
	next  http.RoundTripper
	token func() string
}

// RoundTrip implements http.RoundTripper.
func (a *authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	if token := a.token(); token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return a.next.RoundTrip(req)
}

// Over returns a client of a server that is reached by a function, such as that of a
// loopback.Listener, without an address.
func Over(dial func(ctx context.Context, network, address string) (net.Conn, error), userAgent string) *Client {
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTime,
		ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10} // a server has fifty connections to itself, most for quiet watches
	return &Client{Host: "http://loopback", HTTP: &http.Client{Transport: transport}, UserAgent: userAgent}
}
