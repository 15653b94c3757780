package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/master"
	"kube2014/pkg/options"
	"kube2014/pkg/server"
	"kube2014/pkg/util/certtest"
)

// secured is an apiserver with both ports open, on a network. No loop runs.
type secured struct {
	*doors
	insecure, url string
	trusted       *x509.CertPool
}

// credentials are what a client shows: headers like "Name: value", and a certificate, nil for none.
type credentials struct {
	headers     []string
	certificate *certtest.Pair
}

func bearer(token string) credentials {
	return credentials{headers: []string{"Authorization: Bearer " + token}}
}

// as adds headers to credentials.
func (c credentials) as(headers ...string) credentials {
	return credentials{append(headers, c.headers...), c.certificate}
}

// files are in a folder of a test.
type files struct {
	t   *testing.T
	dir string
}

func filesOf(t *testing.T) files { return files{t, t.TempDir()} }

func (f files) path(name string) string { return filepath.Join(f.dir, name) }

// write replaces a file as a whole, as programs do that others read beside them.
func (f files) write(name, text string) (path string) {
	require.NoError(f.t, os.WriteFile(f.path(name)+".new", []byte(text), 0o600))
	require.NoError(f.t, os.Rename(f.path(name)+".new", f.path(name)))
	return f.path(name)
}

// pair writes NAME.crt and NAME.key.
func (f files) pair(name string, pair *certtest.Pair) (certificate, key string) {
	cert, private := pair.CertPEM, pair.KeyPEM
	return f.write(name+".crt", string(cert)), f.write(name+".key", string(private))
}

// local is a change of a certificate: a server on this machine has it.
func local(c *x509.Certificate) {
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
}

// secureFlags open the secure port. Who signs its certificate is returned too.
func (f files) secureFlags() (flags []string, authority *certtest.Pair) {
	authority = certtest.Authority(f.t, "authority")
	cert, key := f.pair("server", authority.Client(f.t, "server", local))
	return []string{"-secure_port", "0", "-bind_address", "127.0.0.1", "-tls_cert_file", cert, "-tls_private_key_file", key}, authority
}

// openSecure assembles an apiserver as the program does, and opens both ports of it.
func openSecure(t *testing.T, flags ...string) *secured { return openSecureWith(t, config, flags...) }

// revokesAtOnce is the configuration of a server for which a token ends at once with what it depends on, not within seconds.
func revokesAtOnce() *master.Config {
	own := *config
	own.TokenCacheTTL = 0
	return &own
}

func openSecureWith(t *testing.T, with *master.Config, flags ...string) *secured {
	own, authority := filesOf(t).secureFlags()
	flags = append(own, flags...)
	d := openDoorsWith(t, with, flags...)
	if d.Roles.Policy != nil {
		require.NoError(t, d.BootstrapRoles(t.Context()))
	}
	o, err := options.Parse(flags)
	require.NoError(t, err)
	config := &server.Config{}
	require.NoError(t, o.SecureServing.ApplyTo(config, &o.Authentication))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	secure := &http.Server{Handler: d.Server.SecureHandler(), TLSConfig: config.Secure.TLS, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = secure.ServeTLS(listener, "", "") }() // it ends with the test
	t.Cleanup(func() { assert.NoError(t, secure.Close()) })
	insecure := httptest.NewServer(d.handler)
	t.Cleanup(insecure.Close)
	return &secured{d, insecure.URL, "https://" + listener.Addr().String(), authority.Pool()}
}

// clientWith returns a client that shows a certificate, nil for none.
func clientWith(t *testing.T, trusted *x509.CertPool, certificate *certtest.Pair) *http.Client {
	config := &tls.Config{RootCAs: trusted}
	if certificate != nil {
		config.Certificates = []tls.Certificate{certificate.Certificate}
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// insecureTLS lets a client trust any server.
func insecureTLS(client *http.Client) {
	client.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
}

// askWith sends a request with the credentials' headers.
func askWith(t *testing.T, client *http.Client, who credentials, method, url, body string) (status int, text string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(unhurriedContext(t), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	for _, line := range who.headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Content-Type" {
			req.Header.Del(name)
		}
		req.Header.Add(name, value)
	}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(answer), resp.Header
}

// ask sends a request to the secure port.
func (s *secured) ask(t *testing.T, who credentials, method, path, body string) (status int, text string) {
	t.Helper()
	status, text, _ = askWith(t, clientWith(t, s.trusted, who.certificate), who, method, s.url+path, body)
	return status, text
}

// secureProgram starts the program with both ports open, and returns their URLs.
func secureProgram(t *testing.T, mode string, flags ...string) (cmd *exec.Cmd, log *watched, insecure, url string) {
	cmd, log = secureProcess(t, mode, flags...)
	at := log.find(`serves (http://127\.0\.0\.1:\d+)\S*(?: and /api/v1 and /ui/)?, (https://127\.0\.0\.1:\d+)/`)
	return cmd, log, at[1], at[2]
}

// secureProcess starts the program with a free insecure port.
func secureProcess(t *testing.T, mode string, flags ...string) (cmd *exec.Cmd, log *watched) {
	return bareProgram(t, mode, append([]string{"-port", "0"}, flags...)...)
}

// bareProgram starts the program with these flags only.
func bareProgram(t *testing.T, mode string, flags ...string) (cmd *exec.Cmd, log *watched) {
	cmd = exec.Command(os.Args[0], flags...)
	cmd.Env = append(os.Environ(), asProgram+"="+mode)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, if the test went well
	return cmd, watch(t, stderr)
}

// refusedStart runs the program until it ends by itself with exit code 2, and returns what
// it says, line by line.
func refusedStart(t *testing.T, flags ...string) (lines []string) {
	t.Helper()
	cmd := exec.CommandContext(unhurriedContext(t), os.Args[0], flags...)
	cmd.Env = append(os.Environ(), asProgram+"="+hurried)
	said, err := cmd.CombinedOutput()
	assert.Error(t, err)
	assert.Equal(t, 2, cmd.ProcessState.ExitCode(), string(said))
	return strings.Split(strings.TrimSpace(string(said)), "\n")
}
