package aggregation

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
)

// ClusterIPs is the range of the addresses of services: an extension server can listen on some of them.
const ClusterIPs = "127.7.0.0/24"

// hosts has the addresses of the extension servers.
var hosts = map[string]string{"a": "127.0.0.1", "b": "127.0.0.1", "c": "127.0.0.1", "d": "127.0.0.1", "e": "127.0.0.1", "f": "127.0.0.1", "elsewhere": "127.0.0.1", "cluster": "127.7.0.10"}

// World is what is around a server: those who ask it, and the extension servers behind it.
type World struct {
	t          testing.TB
	flags      []string // names and values
	accounts   []string // flags for tokens of service accounts
	tokens     map[string]string
	clients    map[string]*http.Client
	extensions map[string]*extension
	hide, show *strings.Replacer // what is replaced in answers, and put in requests
	ports      map[string]string // the names of the ports of extension servers, which are replaced too
	server     string
	steps      int
}

// NewWorld starts the extension servers. They end with the test.
func NewWorld(t testing.TB) *World {
	w := &World{t: t, tokens: map[string]string{}, clients: map[string]*http.Client{}, extensions: map[string]*extension{}, ports: map[string]string{}}
	clients, proxies, servers := certtest.Authority(t, "clients"), certtest.Authority(t, "proxies"), certtest.Authority(t, "servers")
	aggregator, account := proxies.Client(t, "aggregator", nil), clients.Client(t, "account", nil)
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	var users strings.Builder
	for _, user := range []string{`admin,0,system:masters`, `alice,1001,"dev,ops"`, `bob,1002`} {
		name, _, _ := strings.Cut(user, ",")
		w.tokens[name] = "token-of-" + name
		fmt.Fprintf(&users, "token-of-%s,%s\n", name, user)
	}
	key := file("account.key", account.KeyPEM)
	w.flags = []string{"client_ca_file", file("clients", clients.CertPEM), "requestheader_client_ca_file", file("proxies", proxies.CertPEM),
		"requestheader_allowed_names", "aggregator,front-proxy", "requestheader_username_headers", "X-Remote-User", "requestheader_group_headers", "X-Remote-Group",
		"requestheader_uid_headers", "X-Remote-Uid", "requestheader_extra_headers_prefix", "X-Remote-Extra-",
		"proxy_client_cert_file", file("aggregator.crt", aggregator.CertPEM), "proxy_client_key_file", file("aggregator.key", aggregator.KeyPEM),
		"token_auth_file", file("tokens", []byte(users.String())), "authorization_mode", "RBAC", "service_cluster_ip_range", ClusterIPs, "disable_admission_plugins", "ServiceAccount"}
	w.accounts = []string{"-service_account_issuer", "https://kubernetes.default.svc", "-service_account_key_file", key, "-service_account_signing_key_file", key}
	w.clients[""] = clientWith(t, nil)
	w.clients["carol"] = clientWith(t, clients.Client(t, "carol", func(c *x509.Certificate) { c.Subject.Organization = []string{"dev", "qa"} }))
	w.clients["dave"] = clientWith(t, clients.Client(t, "dave", func(c *x509.Certificate) {
		c.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}, Value: "uid-of-dave"}}
	}))
	w.clients["proxy"] = clientWith(t, proxies.Client(t, "front-proxy", nil))
	w.clients["other proxy"] = clientWith(t, proxies.Client(t, "other", nil))

	good, bad := servers.Server(t, "*.default.svc"), servers.Server(t, "other.example.com")
	encoded := func(p *certtest.Pair) string { return base64.StdEncoding.EncodeToString(p.CertPEM) }
	hidden := []string{encoded(servers), "$CA", encoded(clients), "$OTHERCA", escaped(clients), "$CLIENTS", escaped(proxies), "$PROXIES"}
	for name, address := range hosts {
		shows := good
		if name == "elsewhere" {
			shows = bad
		}
		e := startExtension(t, name, address, shows, proxies.Pool())
		w.extensions[name] = e
		_, port, _ := strings.Cut(e.Listener.Addr().String(), ":")
		w.ports[port] = "$PORT_" + name
	}
	var shown []string
	for i := range hidden {
		shown = append(shown, hidden[i^1])
	}
	for _, port := range slices.SortedFunc(maps.Keys(w.ports), func(a, b string) int { return len(w.ports[b]) - len(w.ports[a]) }) { // elsewhere before e
		shown = append(shown, w.ports[port], port)
	}
	w.hide, w.show = strings.NewReplacer(hidden...), strings.NewReplacer(shown...)
	return w
}

// hidden returns an answer without what differs from world to world.
func (w *World) hidden(answer string) string {
	return port.ReplaceAllStringFunc(w.hide.Replace(answer), func(found string) string {
		if name := w.ports[found[1:]]; name != "" {
			return found[:1] + name
		}
		return found
	})
}

// port matches what may be a port, with what stands before it.
var port = regexp.MustCompile(`[: ]\d+\b`)

// escaped returns a certificate as it stands in JSON.
func escaped(p *certtest.Pair) string { return strings.ReplaceAll(string(p.CertPEM), "\n", `\n`) }

// clientWith returns a client that shows a certificate, nil for none. It trusts any server.
func clientWith(t testing.TB, certificate *certtest.Pair) *http.Client {
	config := &tls.Config{InsecureSkipVerify: true}
	if certificate != nil {
		config.Certificates = []tls.Certificate{certificate.Certificate}
	}
	transport := &http.Transport{TLSClientConfig: config, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// AdminToken is that of a user who may do everything.
func (w *World) AdminToken() string { return w.tokens["admin"] }

// OurFlags returns the flags of our server.
func (w *World) OurFlags() []string {
	flags := w.accounts
	for i := 0; i < len(w.flags); i += 2 {
		flags = append(flags, "-"+w.flags[i], w.flags[i+1])
	}
	return flags
}

// TodaysFlags returns those of kube-apiserver, which has others for tokens.
func (w *World) TodaysFlags() (flags []string) {
	for i := 0; i < len(w.flags); i += 2 {
		flags = append(flags, "--"+strings.ReplaceAll(w.flags[i], "_", "-"), w.flags[i+1])
	}
	return flags
}
