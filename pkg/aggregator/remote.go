package aggregator

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/util/pems"
	"kube2014/pkg/util/services"
)

// remote is another server. It is safe for concurrent use.
type remote struct {
	spec    apiregistrationv1.APIServiceSpec
	resolve services.Resolver
	timeout time.Duration // as that of the configuration

	http      *http.Transport
	upgrading *http.Transport // speaks HTTP/1.1 only, which alone can be upgraded
}

// newRemote returns the server that the spec of an APIService names. An error names a field.
func newRemote(spec apiregistrationv1.APIServiceSpec, c *Config) (*remote, error) {
	security := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         spec.Service.Name + "." + spec.Service.Namespace + ".svc",
		InsecureSkipVerify: spec.InsecureSkipTLSVerify,
	}
	if len(bytes.TrimSpace(spec.CABundle)) > 0 {
		var err error
		if security.RootCAs, err = pems.Pool("spec.caBundle", spec.CABundle); err != nil {
			return nil, err
		}
	}
	if c.Certificate != nil {
		security.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.Certificate() }
	}
	upgrading := newTransport(security, false)
	upgrading.ResponseHeaderTimeout = upgradeTimeout // such a request has no other limit
	return &remote{spec, c.Resolve, c.Timeout, newTransport(security, true), upgrading}, nil
}

func newTransport(security *tls.Config, http2 bool) *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(http2)
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:        security.Clone(),
		TLSHandshakeTimeout:    dialTimeout,
		Protocols:              protocols,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: dialTimeout, PingTimeout: dialTimeout},
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

const (
	dialTimeout    = 15 * time.Second
	upgradeTimeout = time.Minute // of the answer that allows it
	maxIdle        = 64          // connections to a server that speaks HTTP/1.1 only
)

// addresses returns where the server is now.
func (r *remote) addresses(ctx context.Context) ([]string, error) {
	return r.resolve(ctx, r.spec.Service.Namespace, r.spec.Service.Name, *r.spec.Service.Port)
}

// close closes the idle connections.
func (r *remote) close() {
	r.http.CloseIdleConnections()
	r.upgrading.CloseIdleConnections()
}

// self is the user as whom this server asks others for what they serve. As one of the masters it may always ask.
var self = &user.Info{Name: "system:kube-aggregator", Groups: []string{user.Masters}}

// get asks the server at an address for a path, itself. Redirects are not followed.
func (r *remote) get(ctx context.Context, address, path string, header http.Header) (*http.Response, *url.URL, error) {
	at := &url.URL{Scheme: "https", Host: address, Path: path}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	identify(req, self)
	client := &http.Client{Transport: r.http, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(req)
	if err != nil {
		return nil, at, fmt.Errorf("failing or missing response from %v: %w", at, err)
	}
	return answer, at, nil
}
