package certs_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/server/certs"
	"kube2014/pkg/util/certtest"
)

// written is what the tests have logged.
var written lockedBuffer

// quiet is the log of a server for errors of its clients, such as failing handshakes.
var quiet = log.New(&lockedBuffer{}, "", 0)

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestMain(m *testing.M) {
	log.SetOutput(&written)
	os.Exit(m.Run())
}

// later lets a change of files be noticed: in a bubble, the time passes at once.
func later() { time.Sleep(time.Minute) }

// pipes is a listener in memory: in a bubble, time cannot pass while somebody reads from a socket.
type pipes struct {
	connections chan net.Conn
	closed      context.Context
	close       context.CancelFunc
}

func listen() *pipes {
	closed, cancel := context.WithCancel(context.Background())
	return &pipes{make(chan net.Conn), closed, cancel}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.connections:
		return connection, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close()
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.connections <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// clientOf returns an HTTP/2 client with connections of its own.
func clientOf(t *testing.T, ca *certtest.Pair, listener *pipes) *http.Client {
	client := client(t, ca, nil, true)
	client.Transport.(*http.Transport).DialContext = listener.dial
	return client
}

func TestReplacedFilesAreServedToNewConnectionsAndOldStreamsGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca := certtest.Authority(t, "ca")
		first, second := ca.Server(t, "server"), ca.Server(t, "server")
		certFile, keyFile := first.Files(t)
		certificate, err := certs.ServingCertificate(certFile, keyFile)
		require.NoError(t, err)
		more := make(chan bool)
		listener := listen()
		serveOn(t, listener, certs.TLSConfig(certificate, false), http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			for req.URL.Path == "/stream" && <-more {
				fmt.Fprintln(w, req.Proto)
				assert.NoError(t, http.NewResponseController(w).Flush())
			}
		}))
		served := func() *x509.Certificate {
			return get(t, clientOf(t, ca, listener), "https://server").TLS.PeerCertificates[0]
		}
		go func() { more <- true }()
		stream := get(t, clientOf(t, ca, listener), "https://server/stream")
		lines := bufio.NewScanner(stream.Body)
		require.True(t, lines.Scan())

		certtest.Replace(t, certFile, second.CertPEM)
		later()
		assert.True(t, first.Leaf.Equal(served()), "half of the pair is replaced")
		certtest.Replace(t, keyFile, second.KeyPEM)
		later()
		assert.True(t, second.Leaf.Equal(served()))
		assert.True(t, first.Leaf.Equal(stream.TLS.PeerCertificates[0]))
		for range 3 {
			more <- true
			require.True(t, lines.Scan())
			assert.Equal(t, "HTTP/2.0", lines.Text())
		}
		more <- false
		assert.False(t, lines.Scan())
		assert.NoError(t, lines.Err())
	})
}

func TestABrokenReplacementKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	const secret = "bXktc2VjcmV0LWtleS1tYXRlcmlhbA=="
	for name, breakIt := range map[string]func(t *testing.T, certFile, keyFile string){
		"the key is gone":         func(t *testing.T, _, keyFile string) { require.NoError(t, os.Remove(keyFile)) },
		"the certificate is gone": func(t *testing.T, certFile, _ string) { require.NoError(t, os.Remove(certFile)) },
		"the key is empty":        func(t *testing.T, _, keyFile string) { certtest.Replace(t, keyFile, nil) },
		"the key is broken": func(t *testing.T, _, keyFile string) {
			certtest.Replace(t, keyFile, block("PRIVATE KEY", []byte(secret)))
		},
		"the key is no PEM": func(t *testing.T, _, keyFile string) { certtest.Replace(t, keyFile, []byte(secret)) },
		"an odd block":      func(t *testing.T, _, keyFile string) { certtest.Replace(t, keyFile, block(secret, []byte(secret))) },
		"the certificate is broken": func(t *testing.T, certFile, _ string) {
			certtest.Replace(t, certFile, block("CERTIFICATE", []byte(secret)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ca := certtest.Authority(t, "ca")
				first, second := ca.Server(t, "server"), ca.Server(t, "server")
				certFile, keyFile := first.Files(t)
				certificate, err := certs.ServingCertificate(certFile, keyFile)
				require.NoError(t, err)
				got := func() *x509.Certificate {
					pair, err := certificate(&tls.ClientHelloInfo{})
					require.NoError(t, err)
					return pair.Leaf
				}
				breakIt(t, certFile, keyFile)
				later()
				assert.True(t, first.Leaf.Equal(got()))
				assert.Regexp(t, "the server's certificate cannot be read again, so what was read before stays: .*("+certFile+"|"+keyFile+")", written.String())
				for _, form := range []string{secret, "bXktc2VjcmV0", "YlhrdGMyVmpjbVYw"} { // as it is, and in PEM
					assert.NotContains(t, written.String(), form)
				}

				certtest.Replace(t, certFile, second.CertPEM)
				certtest.Replace(t, keyFile, second.KeyPEM)
				later()
				assert.True(t, second.Leaf.Equal(got()))
			})
		})
	}
}

func TestAReplacedFileOfAuthoritiesIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := certtest.Authority(t, "one"), certtest.Authority(t, "two")
		file, _ := one.Files(t)
		bundle, err := certs.ReadCABundle("-client_ca_file", file)
		require.NoError(t, err)
		assert.True(t, one.Pool().Equal(bundle.Pool()))
		certtest.Replace(t, file, two.CertPEM)
		later()
		assert.True(t, two.Pool().Equal(bundle.Pool()))
		assert.Equal(t, []*x509.Certificate{two.Leaf}, bundle.Certificates())
		certtest.Replace(t, file, two.KeyPEM)
		later()
		assert.True(t, two.Pool().Equal(bundle.Pool()))
		assert.Contains(t, written.String(), "-client_ca_file cannot be read again, so what was read before stays: "+file)
		assert.NotContains(t, written.String(), strings.Split(string(two.KeyPEM), "\n")[1])
	})
}
