package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"kube2014/pkg/util"
)

const (
	// A request to the apiserver makes several calls. If one hangs, half of the
	// 5 seconds that the request may take are left for the others.
	callTimeout  = 2500 * time.Millisecond // once connected, for all members together
	dialTimeout  = 500 * time.Millisecond  // for all members together
	watchTimeout = time.Minute
	idleTimeout  = 90 * time.Second
	maxIdle      = 128 // connections to one member: more than concurrent requests
)

// transport limits the time of each request, reading the body included, and
// accepts only answers of the v2 keys API.
type transport struct {
	inner        *http.Transport
	callTimeout  time.Duration // of a write
	readTimeout  time.Duration
	watchTimeout time.Duration
}

// errNoKeysAPI is the error for an answer that is not of the v2 keys API.
var errNoKeysAPI = errors.New("does not answer as etcd's v2 keys API does")

// newTransport returns a transport for a cluster of a number of members.
func newTransport(members int, security *tls.Config) *transport {
	return &transport{
		inner: &http.Transport{
			DialContext:         newDialer(members).DialContext,
			TLSClientConfig:     security,
			MaxIdleConns:        maxIdle * members,
			MaxIdleConnsPerHost: maxIdle,
			IdleConnTimeout:     idleTimeout,
		},
		callTimeout:  callTimeout,
		readTimeout:  callTimeout / time.Duration(members), // a read may be tried on each
		watchTimeout: watchTimeout,
	}
}

func newDialer(members int) *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout / time.Duration(members)}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	timeout, address, query := t.callTimeout, *req.URL, req.URL.Query()
	switch {
	case req.Method == http.MethodGet && query.Get("wait") == "true":
		timeout = t.watchTimeout
	case req.Method == http.MethodGet:
		timeout = t.readTimeout
	case req.Method == http.MethodPut && query.Has("prevIndex"):
		query.Set("noValueOnSuccess", "true")
		address.RawQuery = query.Encode()
	}
	ctx, cancel := context.WithTimeout(req.Context(), timeout)
	req = req.WithContext(ctx)
	req.URL = &address
	resp, err := t.inner.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if !isJSON(resp) {
		resp.Body.Close()
		cancel()
		return nil, fmt.Errorf("%s %w, but with %s", req.URL.Host, errNoKeysAPI, resp.Status)
	}
	resp.Body = util.CancelOnClose(resp.Body, cancel)
	return resp, nil
}

func isJSON(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json")
}
