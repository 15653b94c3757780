package aggregator_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkGET compares a GET through the aggregator with one through a bare reverse proxy to the same server.
func BenchmarkGET(b *testing.B) {
	f := open(b)
	other := f.other(http.HandlerFunc(serve))
	f.serve(other)
	require.Equal(b, "Passed", f.register("").Reason)
	target, err := url.Parse(other.URL)
	require.NoError(b, err)
	client := f.authority.Client(b, "proxy", nil)
	bare := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: f.authority.Pool(), ServerName: "api.default.svc", Certificates: []tls.Certificate{client.Certificate}}},
	})
	defer bare.Close()
	for name, at := range map[string]string{"bare": bare.URL, "aggregator": f.url} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := http.Get(at + "/apis/example.com/v1/things")
				require.NoError(b, err)
				_, err = io.Copy(io.Discard, res.Body)
				require.NoError(b, err)
				require.NoError(b, res.Body.Close())
			}
		})
	}
}
