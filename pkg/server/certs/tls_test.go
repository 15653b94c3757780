package certs_test

import (
	"bufio"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/server/certs"
	"kube2014/pkg/util/certtest"
)

const address = "127.0.0.1"

// always returns a pair for all connections.
func always(pair *certtest.Pair) certs.GetCertificate {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair.Certificate, nil }
}

// serve serves HTTPS on a free port until the test ends, and returns its address.
func serve(t *testing.T, config *tls.Config, handler http.Handler) string {
	t.Helper()
	listener, err := net.Listen("tcp", address+":0")
	require.NoError(t, err)
	serveOn(t, listener, config, handler)
	return listener.Addr().String()
}

func serveOn(t *testing.T, listener net.Listener, config *tls.Config, handler http.Handler) {
	server := &http.Server{Handler: handler, TLSConfig: config, ErrorLog: quiet}
	done := make(chan error)
	go func() { done <- server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() {
		assert.NoError(t, server.Close())
		assert.ErrorIs(t, <-done, http.ErrServerClosed)
	})
}

func TestTLSIsOfThisDecade(t *testing.T) {
	t.Parallel()
	assert.EqualValues(t, tls.VersionTLS12, certs.TLSConfig(nil, false).MinVersion, "whatever Go's default becomes")
	ca := certtest.Authority(t, "ca")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	servers := map[string]string{
		"ECDSA": serve(t, certs.TLSConfig(always(ca.Server(t, address)), false), http.NotFoundHandler()),
		"RSA":   serve(t, certs.TLSConfig(always(ca.ServerWithKey(t, key, address)), false), http.NotFoundHandler()),
	}
	for _, row := range []struct {
		name     string
		key      string // "" for both
		version  uint16
		suite    uint16 // 0 for all that the client has
		accepted bool
	}{
		{"1.0", "", tls.VersionTLS10, 0, false},
		{"1.1", "", tls.VersionTLS11, 0, false},
		{"1.2", "", tls.VersionTLS12, 0, true},
		{"1.3", "", tls.VersionTLS13, 0, true},
		{"RSA key exchange", "RSA", tls.VersionTLS12, tls.TLS_RSA_WITH_AES_128_GCM_SHA256, false},
		{"3DES", "RSA", tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA, false},
		{"RC4", "RSA", tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_RC4_128_SHA, false},
		{"CBC", "RSA", tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256, false},
		{"CBC with SHA-1", "RSA", tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, false},
		{"CBC with SHA-1", "ECDSA", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, false},
		{"AES-128-GCM", "RSA", tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, true},
		{"AES-128-GCM", "ECDSA", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, true},
		{"AES-256-GCM", "ECDSA", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, true},
		{"ChaCha20", "ECDSA", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, true},
	} {
		for key, server := range servers {
			if row.key != "" && row.key != key {
				continue
			}
			t.Run(row.name+" with "+key, func(t *testing.T) {
				config := &tls.Config{RootCAs: ca.Pool(), MinVersion: row.version, MaxVersion: row.version}
				if row.suite != 0 {
					config.CipherSuites = []uint16{row.suite}
				}
				connection, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", server)
				if !row.accepted {
					require.Error(t, err)
					return
				}
				require.NoError(t, err)
				state := connection.(*tls.Conn).ConnectionState()
				assert.Equal(t, row.version, state.Version)
				assert.NoError(t, connection.Close())
			})
		}
	}
}

// client returns a client that trusts an authority, and shows a pair if it is not nil.
func client(t *testing.T, ca *certtest.Pair, shows *certtest.Pair, http2 bool) *http.Client {
	config := &tls.Config{RootCAs: ca.Pool()}
	if shows != nil {
		config.Certificates = []tls.Certificate{shows.Certificate}
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: http2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() }) // it may be cut off
	return response
}

func TestAnyClientCertificateIsTakenIfItIsAskedFor(t *testing.T) {
	t.Parallel()
	ca, other := certtest.Authority(t, "ca"), certtest.Authority(t, "other")
	name := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for _, certificate := range req.TLS.PeerCertificates {
			fmt.Fprint(w, certificate.Subject.CommonName, certificate.Subject.Organization)
		}
		assert.Empty(t, req.TLS.VerifiedChains, "that is not its job")
	})
	config := func(requested bool) *tls.Config {
		return certs.TLSConfig(always(ca.Server(t, address)), requested)
	}
	asks, doesNot := serve(t, config(true), name), serve(t, config(false), name)
	bob := ca.Client(t, "bob", func(c *x509.Certificate) { c.Subject.Organization = []string{"dev", "ops"} })
	for _, row := range []struct {
		name   string
		shows  *certtest.Pair
		server string
		want   string
	}{
		{"none", nil, asks, ""},
		{"a valid one", bob, asks, "bob[dev ops]"},
		{"one that has expired", ca.Client(t, "bob", certtest.Expired), asks, "bob[]"},
		{"another authority's", other.Client(t, "eve", nil), asks, "eve[]"},
		{"one that nobody asked for", bob, doesNot, ""},
	} {
		for _, http2 := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, HTTP/2: %v", row.name, http2), func(t *testing.T) {
				t.Parallel()
				text, err := io.ReadAll(get(t, client(t, ca, row.shows, http2), "https://"+row.server).Body)
				require.NoError(t, err)
				assert.Equal(t, row.want, string(text))
			})
		}
	}
}

func TestALongAnswerIsStreamedOverHTTP2(t *testing.T) {
	t.Parallel()
	ca, more := certtest.Authority(t, "ca"), make(chan int)
	server := serve(t, certs.TLSConfig(always(ca.Server(t, address)), false), http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		answer := http.NewResponseController(w)
		assert.NoError(t, answer.Flush())
		for range more {
			assert.NoError(t, answer.SetWriteDeadline(time.Now().Add(time.Hour)))
			fmt.Fprintln(w, req.Proto)
			assert.NoError(t, answer.Flush())
		}
	}))
	lines := bufio.NewScanner(get(t, client(t, ca, nil, true), "https://"+server).Body)
	for i := range 1000 {
		more <- i
		require.True(t, lines.Scan(), "each line comes when it is written")
		require.Equal(t, "HTTP/2.0", lines.Text())
	}
	close(more)
	require.False(t, lines.Scan())
	assert.NoError(t, lines.Err())
}

func TestAWriteDeadlineEndsOneAnswerAndNotTheConnection(t *testing.T) {
	t.Parallel()
	ca, ended := certtest.Authority(t, "ca"), make(chan error, 1)
	server := serve(t, certs.TLSConfig(always(ca.Server(t, address)), false), http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/other" {
			fmt.Fprint(w, req.RemoteAddr)
			return
		}
		answer := http.NewResponseController(w)
		fmt.Fprintln(w, req.RemoteAddr)
		assert.NoError(t, answer.Flush())
		assert.NoError(t, answer.SetWriteDeadline(time.Now().Add(-time.Second)))
		err := error(nil)
		for err == nil { // until nothing more fits into what is on its way
			_, err = w.Write(make([]byte, 1<<16))
		}
		ended <- err
	}))
	client := client(t, ca, nil, true)
	cut := bufio.NewScanner(get(t, client, "https://"+server).Body)
	require.True(t, cut.Scan())
	from := cut.Text()
	assert.Error(t, <-ended, "a client that does not read is cut off")
	text, err := io.ReadAll(get(t, client, "https://"+server+"/other").Body)
	require.NoError(t, err)
	assert.Equal(t, from, string(text), "by the same connection")
}
