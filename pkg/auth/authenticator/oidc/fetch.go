package oidc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// FetchTimeout bounds one request to the issuer. A request whose token has an unknown key may wait for it. It is a
// variable for tests on slow machines, which set it before they begin.
var FetchTimeout = 5 * time.Second

const maxBody = 1 << 20

// fetch reads what is at an https URL. Its error has nothing of that.
type fetch func(ctx context.Context, url string) ([]byte, error)

// fetcher returns a fetch that trusts some authorities, nil for those of the system. It follows no redirect, which could
// lead to a server that is not trusted.
func fetcher(roots *x509.CertPool) fetch {
	return over(&http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: 90 * time.Second,
	})
}

// over returns a fetch over some connections.
func over(connections http.RoundTripper) fetch {
	return func(ctx context.Context, at string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, FetchTimeout)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return nil, errors.New("its URL is broken")
		}
		resp, err := connections.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("it answered %d", resp.StatusCode)
		}
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
		switch {
		case len(text) > maxBody:
			return nil, fmt.Errorf("it answered more than %d bytes", maxBody)
		case ctx.Err() != nil: // the answer may have ended because of that
			return nil, ctx.Err()
		}
		return text, err
	}
}
