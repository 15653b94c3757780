package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/util/certtest"
)

const timedOut = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}` + "\n"

func TestARequestThatAnEtcdHoldsUpIsToldSoAfterItsTime(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"etcd2", "etcd3"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			server := startEtcd(t)
			f := filesOf(t)
			s := openSecure(t, "-etcd_servers", server.URL, "-storage_backend", backend, "-request_timeout", "100ms", "-token_auth_file", f.write("tokens", tokensOf("ann")))
			require.NoError(t, server.Pause())
			defer func() { assert.NoError(t, server.Resume()) }() // so that it can end
			for _, path := range []string{todaysPods, todaysPods + "/x", "/api/v1/nodes"} {
				status, text := s.ask(t, bearer("ann-token"), "GET", path, "")
				assert.Equal(t, http.StatusGatewayTimeout, status, path)
				assert.Equal(t, timedOut, text, path)
			}
		})
	}
}

func TestAWatchMayTakeLongerThanARequest(t *testing.T) {
	t.Parallel()
	const timeout = 50 * time.Millisecond
	s := openSecure(t, "-request_timeout", timeout.String(), "-token_auth_file", filesOf(t).write("tokens", tokensOf("ann")))
	watch := beginWatch(t, clientWith(t, s.trusted, nil), s.url, "ann-token")
	begun := time.Now()
	eventually(t, func() bool { return time.Since(begun) > 3*timeout }, "the time of a request is over")
	status, text := s.ask(t, bearer("ann-token"), "POST", "/api/v1beta1/services", `{"id": "late", "port": 80}`) // it has a time of its own
	require.Equal(t, http.StatusOK, status, text)
	assert.Equal(t, "ADDED late", watch.next())
}

func TestBeforeTheEndTheServerSaysThatItIsNotReady(t *testing.T) {
	t.Parallel()
	f := filesOf(t)
	flags, authority := f.secureFlags()
	cmd, log, insecure, url := secureProgram(t, unhurried, append(flags, "-shutdown_delay_duration", "1h", "-token_auth_file", f.write("tokens", tokensOf("ann")))...)
	client := clientWith(t, authority.Pool(), nil)
	status := func(url string) int {
		log.has("nothing: so that there is room for what is logged")
		status, _, _ := askWith(t, client, bearer("ann-token"), "GET", url, "")
		return status
	}
	eventually(t, func() bool { return status(url+"/readyz") == http.StatusOK }, "it is ready")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	eventually(t, func() bool { return status(url+"/readyz") == http.StatusInternalServerError }, "it is not ready any more")
	for _, at := range []string{insecure, url} {
		assert.Equal(t, http.StatusInternalServerError, status(at+"/readyz"))
		assert.Equal(t, http.StatusOK, status(at+"/healthz"))
		assert.Equal(t, http.StatusOK, status(at+"/livez"))
		assert.Equal(t, http.StatusOK, status(at+todaysPods), "it serves as before")
		_, text, _ := askWith(t, client, bearer("ann-token"), "GET", at+"/readyz?verbose", "")
		assert.Contains(t, text, "[-]shutdown failed: reason withheld\n")
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Error(t, cmd.Wait(), "a second signal ends it at once")
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
}

// The connection of a client that speaks HTTP/2 is told to end, and its requests are finished.
func TestTheEndFinishesRequestsOverHTTP2(t *testing.T) {
	t.Parallel()
	f := filesOf(t)
	flags, authority := f.secureFlags()
	flags = append(flags, "-disable_admission_plugins", "ServiceAccount") // nobody makes an account at the end
	cmd, logged, _, url := secureProgram(t, unhurried, append(flags, "-token_auth_file", f.write("tokens", tokensOf("ann")))...)
	go logged.end()
	client := clientWith(t, authority.Pool(), nil)
	client.Transport.(*http.Transport).ExpectContinueTimeout = hangs
	watch := beginWatch(t, client, url, "ann-token")
	read := make(chan struct{})
	body, rest := io.Pipe()
	ctx := httptrace.WithClientTrace(unhurriedContext(t), &httptrace.ClientTrace{Got100Continue: func() { close(read) }})
	req, err := http.NewRequestWithContext(ctx, "POST", url+todaysPods, body)
	require.NoError(t, err)
	req.Header = http.Header{"Authorization": {"Bearer ann-token"}, "Content-Type": {"application/json"}, "Expect": {"100-continue"}}
	status := make(chan int, 1)
	go func() {
		resp, err := client.Do(req)
		if assert.NoError(t, err) {
			resp.Body.Close()
			status <- resp.StatusCode
		}
		close(status)
	}()
	soon(t, read, "the server reads the body")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Empty(t, watch.next(), "the watch ends")
	eventually(t, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "https://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	}, "there are no new connections")
	_, err = io.WriteString(rest, encodeAll(t, podNamed("late")))
	require.NoError(t, err)
	require.NoError(t, rest.Close())
	assert.Equal(t, http.StatusCreated, soon(t, status, "the request is answered"))
	client.CloseIdleConnections()
	assert.NoError(t, cmd.Wait(), "exit code 0")
}

func TestProfilesAreForWhoMay(t *testing.T) {
	t.Parallel()
	tokens := filesOf(t).write("tokens", tokensOf("ann", "bea"))
	flags := []string{"-authorization_mode", "RBAC", "-token_auth_file", tokens}
	profiles := rbacv1.PolicyRule{NonResourceURLs: []string{"/debug/pprof/*"}, Verbs: []string{"get"}}
	on, off := openSecure(t, append(flags, "-profiling")...), openSecure(t, flags...)
	on.grant("bea", profiles)
	off.grant("bea", profiles)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap"} {
		for name, want := range map[string][2]int{"ann": {403, 403}, "bea": {200, 404}, "nobody": {401, 401}} {
			status, _ := on.ask(t, bearer(name+"-token"), "GET", path, "")
			assert.Equal(t, want[0], status, "%s %s", name, path)
			status, _ = off.ask(t, bearer(name+"-token"), "GET", path, "")
			assert.Equal(t, want[1], status, "%s %s", name, path)
		}
		status, _ := on.ask(t, credentials{}, "GET", path, "")
		assert.Equal(t, http.StatusForbidden, status, path)
	}
}

func TestPagesOfAllowedOriginsReadWhatTheirUsersMayRead(t *testing.T) {
	t.Parallel()
	s := openSecure(t, "-cors_allowed_origins", `^https://example\.com$`, "-token_auth_file", filesOf(t).write("tokens", tokensOf("ann")))
	for origin, allowed := range map[string]string{"https://example.com": "https://example.com", "https://example.org": ""} {
		for token, want := range map[string]int{"ann-token": http.StatusOK, "wrong": http.StatusUnauthorized} {
			status, _, header := askWith(t, clientWith(t, s.trusted, nil), bearer(token).as("Origin: "+origin), "GET", s.url+todaysPods, "")
			assert.Equal(t, want, status)
			assert.Equal(t, allowed, header.Get("Access-Control-Allow-Origin"))
		}
		status, _, _ := askWith(t, clientWith(t, s.trusted, nil), credentials{headers: []string{"Origin: " + origin}}, "OPTIONS", s.url+todaysPods, "")
		assert.Equal(t, map[bool]int{true: http.StatusNoContent, false: http.StatusUnauthorized}[allowed != ""], status, "a browser asks without credentials")
		status, _, _ = askWith(t, clientWith(t, s.trusted, nil), bearer("ann-token").as("Origin: "+origin, "Sec-Fetch-Site: cross-site"), "POST", s.url+todaysPods, "{}")
		assert.Equal(t, http.StatusForbidden, status, "D32 stays")
	}
}

// A kubelet is asked over TLS, with a certificate. One that is not trusted tells nothing, and is no error.
func TestAKubeletIsAskedOverTLS(t *testing.T) {
	t.Parallel()
	f, authority := filesOf(t), certtest.Authority(t, "kubelets")
	kubelet := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		assert.Equal(t, "kube-apiserver", req.TLS.PeerCertificates[0].Subject.CommonName)
		_, _ = io.WriteString(w, `{"told":"by a kubelet"}`)
	}))
	kubelet.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool(), Certificates: []tls.Certificate{authority.Client(t, "kubelet", local).Certificate}}
	kubelet.Config.ErrorLog = log.New(io.Discard, "", 0)
	kubelet.StartTLS()
	t.Cleanup(kubelet.Close)
	_, port, err := net.SplitHostPort(kubelet.Listener.Addr().String())
	require.NoError(t, err)
	cert, key := f.pair("client", authority.Client(t, "kube-apiserver", func(*x509.Certificate) {}))
	ca, _ := f.pair("ca", authority)
	other, _ := f.pair("other", certtest.Authority(t, "kubelets"))
	withCertificate := []string{"-kubelet_https", "-kubelet_port", port, "-kubelet_timeout", hangs.String(), "-kubelet_client_certificate", cert, "-kubelet_client_key", key}
	for name, row := range map[string]struct {
		flags []string
		told  bool
	}{
		"it is trusted":          {append(withCertificate, "-kubelet_certificate_authority", ca), true},
		"it is not checked":      {withCertificate, true},
		"it is not trusted":      {append(withCertificate, "-kubelet_certificate_authority", other), false},
		"we have no certificate": {[]string{"-kubelet_https", "-kubelet_port", port, "-kubelet_certificate_authority", ca}, false},
		"it is asked over HTTP":  {[]string{"-kubelet_port", port}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDoors(t, row.flags...)
			d.createTask("web", 80)
			text := d.send(http.StatusOK, "GET", taskPath("web"), "")
			assert.Equal(t, row.told, strings.Contains(text, "by a kubelet"), text)
		})
	}
}
