package etcd

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/etcd/etcdtest"
)

// peerURL is the port of a member for other members.
func peerURL(t *testing.T, member *etcdtest.Server) string {
	resp, err := http.Get(member.URL + "/v2/members")
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	_, after, found := strings.Cut(string(body), `"peerURLs":["`)
	require.True(t, found, string(body))
	address, _, _ := strings.Cut(after, `"`)
	return address
}

func TestWhatIsNoUsableEtcdIsNamed(t *testing.T) {
	t.Parallel()
	v2, v3 := realEtcd(t), realEtcd(t, "--enable-v2=false")
	peer, other := peerURL(t, v2), server(t, http.NotFound)
	page := server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>hello</html>") })
	overTLS := httptest.NewTLSServer(http.NotFoundHandler())
	overTLS.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of what is no handshake
	t.Cleanup(overTLS.Close)
	for given, says := range map[string]string{
		v3.URL: "is an etcd that does not serve the v2 keys API: use -storage_backend etcd3, or start it (3.4 or 3.5) with --enable-v2",
		peer:   "is a peer port of etcd, for its members only: name a client port",
		other:  "is no etcd: it answers 404 to GET /v2/keys/",
		page:   "is no etcd: it answers 200 to GET /v2/keys/",
		strings.Replace(v2.URL, "http:", "https:", 1):      "serves http, not https",
		strings.Replace(overTLS.URL, "https:", "http:", 1): "serves https, not http",
	} {
		for _, servers := range [][]string{{given}, {downURL(t), given}, {given, downURL(t)}} {
			var unusable *UnusableError
			require.ErrorAs(t, newClient(t, servers...).CheckKey("/"), &unusable)
			assert.Equal(t, &UnusableError{URL: given, Why: says}, unusable)
		}
		assert.NoError(t, newClient(t, given, v2.URL).CheckKey("/"), "one member that serves is enough")
	}
}

// What may serve later is no reason to give up.
func TestAnEtcdThatMayServeLaterIsUsable(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]string{
		"nobody listens": downURL(t),
		"there is no leader": server(t, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, 500, `{"errorCode":300,"message":"Raft Internal Error"}`)
		}),
		"a proxy has no upstream": server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }),
		"a proxy is overloaded":   server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }),
		"the connection breaks":   server(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	} {
		var unusable *UnusableError
		assert.NotErrorAs(t, newClient(t, given).CheckKey("/"), &unusable, name)
	}
}

// What hangs after the handshake is not waited for.
func TestADiagnosisEndsWithItsContext(t *testing.T) {
	t.Parallel()
	certified := httptest.NewTLSServer(nil)
	t.Cleanup(certified.Close)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		p := prober{transport: certified.Client().Transport.(*http.Transport)}
		ended <- p.distrust(ctx, "https://"+listener.Addr().String(), listener.Addr().String(), io.EOF)
	}()
	conn, err := listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	require.NoError(t, conn.(*tls.Conn).HandshakeContext(ctx))
	cancel()
	assert.NoError(t, <-ended, "it does not say that a certificate is wrong")
}
