package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// UnusableError is the error of a URL whose server can never be the store. A retry does not
// help; another URL, another etcd or other credentials do.
type UnusableError struct {
	URL string // as ParseServers returns it
	Why string // the reason, and the remedy
}

// Error returns the URL and what is wrong with it.
func (e *UnusableError) Error() string { return e.URL + " " + e.Why }

func unusable(url, format string, args ...interface{}) error {
	return &UnusableError{URL: url, Why: fmt.Sprintf(format, args...)}
}

// wants are the APIs of etcd of which one is needed.
type wants struct{ v2, v3 bool }

// prober diagnoses members that do not answer as expected.
type prober struct {
	transport *http.Transport
	wants     wants
}

// diagnoseAll probes the members after a call has failed. It returns an *UnusableError if
// one of them can certainly never serve, else nil.
func (p prober) diagnoseAll(ctx context.Context, members []string) error {
	for _, member := range members {
		if err := p.diagnose(ctx, member); err != nil {
			return err
		}
	}
	return nil
}

func (p prober) diagnose(ctx context.Context, member string) error {
	scheme, host, _ := strings.Cut(member, "://") // as ParseServers returns it
	keys, err := p.get(ctx, member+"/v2/keys/")
	switch {
	case (err != nil || keys.status == http.StatusBadRequest) && scheme == "http" && speaksTLS(ctx, host):
		return unusable(member, "serves https, not http")
	case err != nil && scheme == "https" && p.version(ctx, "http://"+host) != "":
		return unusable(member, "serves http, not https")
	case err != nil && scheme == "https":
		return p.distrust(ctx, member, host, err)
	case err != nil, keys.status >= http.StatusInternalServerError,
		keys.status == http.StatusTooManyRequests, keys.status == http.StatusRequestTimeout:
		return nil // it may serve later
	case keys.isJSON && p.wants.v2:
		return nil // likewise
	}
	if err := p.peerPort(ctx, member); err != nil {
		return err
	}
	switch version := p.version(ctx, member); {
	case lacksV3(version):
		return unusable(member, "is etcd %s, which has no v3 API: use -storage_backend etcd2", version)
	case version == "":
		return unusable(member, "is no etcd: it answers %d to GET /v2/keys/", keys.status)
	case !p.wants.v3:
		return unusable(member, "is an etcd that does not serve the v2 keys API: use -storage_backend etcd3, or start it (3.4 or 3.5) with --enable-v2")
	}
	return nil // it may serve later
}

// distrust returns an error if a call over TLS has failed because one side does not trust the
// certificate of the other.
func (p prober) distrust(ctx context.Context, member, host string, err error) error {
	if elsewhere, ok := errors.AsType[x509.HostnameError](err); ok {
		return unusable(member, "has a certificate for another host (%v)", elsewhere)
	}
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return unusable(member, "has a certificate that is not trusted (%v): -etcd_cafile names who signs it", untrusted.Err)
	}
	// Send nothing after the handshake: data that etcd has not read when it closes the
	// connection could suppress its alert.
	conn, err := (&tls.Dialer{Config: p.transport.TLSClientConfig}).DialContext(ctx, "tcp", host)
	if err == nil {
		defer conn.Close()
		stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) }) // makes Read return
		defer stop()
		_, err = conn.Read(make([]byte, 1))
	}
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" {
		return unusable(member, "does not accept us without a certificate that it trusts (%v): -etcd_certfile and -etcd_keyfile name it", alert.Err)
	}
	return nil
}

// probeResult is the answer of a URL.
type probeResult struct {
	status int
	isJSON bool
	body   []byte // its first 64 KiB
}

func (p prober) get(ctx context.Context, address string) (answer probeResult, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer, err
	}
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	answer.status, answer.isJSON = resp.StatusCode, isJSON(resp)
	answer.body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return answer, err
}

// version returns etcd's version, or "" if the URL is not an etcd's. Up to 2.0 it had
// other forms: "etcd 0.4.6", then a release.
func (p prober) version(ctx context.Context, address string) string {
	answer, err := p.get(ctx, address+"/version")
	if err != nil {
		return ""
	}
	if old, ok := strings.CutPrefix(string(answer.body), "etcd "); ok {
		return strings.TrimSpace(old)
	}
	var version struct {
		Server  string `json:"etcdserver"`
		Release string `json:"releaseVersion"`
	}
	if json.Unmarshal(answer.body, &version) != nil {
		return ""
	}
	return version.Server + version.Release // only one is set
}

// lacksV3 reports whether etcd of a version has no v3 API. An unknown version may have it.
func lacksV3(version string) bool {
	return strings.HasPrefix(version, "0.") || strings.HasPrefix(version, "2.")
}

// peerPort returns an *UnusableError if a URL answers with the list of members, as only
// the port for other members does.
func (p prober) peerPort(ctx context.Context, member string) error {
	answer, err := p.get(ctx, member+"/members")
	var members []struct {
		PeerURLs []string `json:"peerURLs"`
	}
	if err != nil || json.Unmarshal(answer.body, &members) != nil || len(members) == 0 || len(members[0].PeerURLs) == 0 {
		return nil
	}
	return unusable(member, "is a peer port of etcd, for its members only: name a client port")
}

// speaksTLS reports whether a host answers a TLS handshake. Nothing is sent over the
// connection, so the certificate is not verified.
func speaksTLS(ctx context.Context, host string) bool {
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent
	return true
}
