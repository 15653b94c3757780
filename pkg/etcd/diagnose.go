package etcd

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// UnusableError tells that what answers at a URL can never serve as the store: a
// retry does not help, another URL or another etcd does.
type UnusableError struct {
	URL string // as it was given
	Why string // what is there, and what to do
}

// Error returns the URL and what is wrong with it.
func (e *UnusableError) Error() string { return e.URL + " " + e.Why }

// diagnose asks a member what it is, after a call to it has failed. It returns an
// *UnusableError when that is clear, else nil.
func (c *Client) diagnose(ctx context.Context, member string) error {
	unusable := func(format string, args ...interface{}) error {
		return &UnusableError{URL: member, Why: fmt.Sprintf(format, args...)}
	}
	scheme, host, _ := strings.Cut(member, "://") // as ParseServers returns it
	keys, err := c.probe(ctx, member+"/v2/keys/")
	switch {
	case (err != nil || keys.status == http.StatusBadRequest) && scheme == "http" && speaksTLS(ctx, host):
		return unusable("serves https, not http")
	case err != nil && scheme == "https" && c.isEtcd(ctx, "http://"+host):
		return unusable("serves http, not https")
	case err != nil, keys.isJSON, keys.status >= http.StatusInternalServerError,
		keys.status == http.StatusTooManyRequests, keys.status == http.StatusRequestTimeout:
		return nil // it may serve later
	case c.isPeerPort(ctx, member):
		return unusable("is a peer port of etcd, for its members only: name a client port")
	case c.isEtcd(ctx, member):
		return unusable("is an etcd that does not serve the v2 keys API: start it (3.4 or 3.5) with --enable-v2")
	}
	return unusable("is no etcd: it answers %d to GET /v2/keys/", keys.status)
}

// probed is what a URL answers.
type probed struct {
	status int
	isJSON bool
	body   []byte // its beginning
}

func (c *Client) probe(ctx context.Context, address string) (answer probed, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer, err
	}
	resp, err := c.transport.inner.RoundTrip(req)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	answer.status, answer.isJSON = resp.StatusCode, isJSON(resp)
	answer.body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return answer, err
}

// isEtcd tells whether a URL answers with etcd's version.
func (c *Client) isEtcd(ctx context.Context, address string) bool {
	answer, err := c.probe(ctx, address+"/version")
	var version struct {
		Server string `json:"etcdserver"`
	}
	return err == nil && json.Unmarshal(answer.body, &version) == nil && version.Server != ""
}

// isPeerPort tells whether a URL answers with the list of members, as only the port
// for other members does.
func (c *Client) isPeerPort(ctx context.Context, address string) bool {
	answer, err := c.probe(ctx, address+"/members")
	var members []struct {
		PeerURLs []string `json:"peerURLs"`
	}
	return err == nil && json.Unmarshal(answer.body, &members) == nil && len(members) > 0 && len(members[0].PeerURLs) > 0
}

// speaksTLS tells whether a host answers a TLS handshake. Nothing is sent over the
// connection, so that it does not matter whose certificate it is.
func speaksTLS(ctx context.Context, host string) bool {
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent
	return true
}
