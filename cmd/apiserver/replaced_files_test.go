package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
)

// shownBy returns the common name of the certificate that a server shows to a new connection.
func shownBy(t *testing.T, url string) string {
	conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// All files of one program are replaced in turn while it runs, each once by a broken one.
func TestFilesAreReadAgainWhileTheProgramRuns(t *testing.T) {
	t.Parallel()
	f, clients := filesOf(t), certtest.Authority(t, "clients")
	flags, authority := f.secureFlags()
	const policy = `{"user":"ann"}` + "\n"
	clientsFile, _ := f.pair("clients", clients)
	_, log, insecure, url := secureProgram(t, hurried, append(flags, "-token_auth_file", f.write("tokens", "old-token,ann,1\n"), "-client_ca_file", clientsFile,
		"-authorization_mode", "ABAC", "-authorization_policy_file", f.write("policy", policy))...)
	client := clientWith(t, authority.Pool(), nil)
	status := func(who credentials) int {
		t.Helper()
		by := client
		if who.certificate != nil {
			by = clientWith(t, authority.Pool(), who.certificate)
			defer by.CloseIdleConnections()
		}
		status, _, _ := askWith(t, by, who, "GET", url+firstDoorsTasks, "")
		return status
	}
	until := func(condition func() bool, what string) {
		t.Helper()
		eventually(t, func() bool {
			log.has("nothing: so that there is room for what is logged")
			return condition()
		}, what)
	}
	require.Equal(t, http.StatusOK, status(bearer("old-token")))
	watch := beginWatch(t, client, url, "old-token")

	f.write("tokens", "new-token,ann,1\nbea-token,bea,2\n")
	until(func() bool { return status(bearer("new-token")) == http.StatusOK }, "the new token is known")
	assert.Equal(t, http.StatusForbidden, status(bearer("bea-token")))
	until(func() bool { return status(bearer("old-token")) == http.StatusUnauthorized }, "the old token, which was known a moment ago, ends within seconds")

	f.write("tokens", "newest-token,ann,1\nbroken-token\n")
	eventuallyLogged(t, log, `-token_auth_file cannot be read again, so what was read before stays: .*/tokens: line 2: `, func() {
		assert.Equal(t, http.StatusOK, status(bearer("new-token")))
	})
	assert.Equal(t, http.StatusUnauthorized, status(bearer("newest-token")))

	f.write("policy", policy+`{"user":"bea"}`+"\n")
	until(func() bool { return status(bearer("bea-token")) == http.StatusOK }, "the new policy holds")
	f.write("policy", policy+`{"user":"bea","resources":"pods"}`+"\n")
	eventuallyLogged(t, log, `the policy of -authorization_policy_file cannot be read again, so what was read before stays: .*/policy: line 2: `, func() {
		assert.Equal(t, http.StatusOK, status(bearer("bea-token")))
	})
	f.write("policy", policy)
	until(func() bool { return status(bearer("bea-token")) == http.StatusForbidden }, "what was given is taken away")

	next := certtest.Authority(t, "next")
	carol := credentials{certificate: next.Client(t, "ann", nil)}
	assert.Equal(t, http.StatusUnauthorized, status(carol))
	f.write("clients.crt", "-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n")
	eventuallyLogged(t, log, `-client_ca_file cannot be read again`, func() { status(carol) })
	assert.Equal(t, http.StatusOK, status(credentials{certificate: clients.Client(t, "ann", nil)}), "the one before stays")
	f.pair("clients", next)
	until(func() bool { return status(carol) == http.StatusOK }, "the new authority is known")
	assert.Equal(t, http.StatusUnauthorized, status(credentials{certificate: clients.Client(t, "ann", nil)}))

	assert.Equal(t, "server", shownBy(t, url))
	replaced := authority.Client(t, "replaced", local)
	cert, key := replaced.CertPEM, replaced.KeyPEM
	f.write("server.crt", string(cert)) // its key comes later
	eventuallyLogged(t, log, `the server's certificate cannot be read again`, func() { assert.Equal(t, "server", shownBy(t, url)) })
	f.write("server.key", string(key))
	until(func() bool { return shownBy(t, url) == "replaced" }, "new connections see the new certificate")

	status2, _, _ := askWith(t, http.DefaultClient, credentials{}, "POST", insecure+todaysServices, `{"metadata":{"name":"web"},"spec":{"ports":[{"port":80}],"selector":{"a":"b"}}}`)
	require.Equal(t, http.StatusCreated, status2)
	assert.Equal(t, "ADDED web", watch.next(), "a watch goes on, whatever was replaced meanwhile")
}

// secureWatch is a watch of services over HTTP/2.
type secureWatch struct {
	t      *testing.T
	events *bufio.Reader
}

func beginWatch(t *testing.T, client *http.Client, url, token string) *secureWatch {
	req, err := http.NewRequestWithContext(unhurriedContext(t), "GET", url+todaysServices+"?watch=1&labelSelector=component!=apiserver", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, 2, resp.ProtoMajor)
	return &secureWatch{t, bufio.NewReader(resp.Body)}
}

// next returns the type of the next event and the name of its object, "" at the end.
func (w *secureWatch) next() string {
	line, err := w.events.ReadBytes('\n')
	if err != nil {
		return ""
	}
	var event struct {
		Type   string
		Object struct{ Metadata struct{ Name string } }
	}
	require.NoError(w.t, json.Unmarshal(line, &event))
	return event.Type + " " + event.Object.Metadata.Name
}

// eventuallyLogged repeats something until the log has a line.
func eventuallyLogged(t *testing.T, log *watched, pattern string, repeated func()) {
	t.Helper()
	eventually(t, func() bool {
		repeated()
		return log.has(pattern)
	}, pattern)
}

// has reports whether one of the lines that have come since the last time matches.
func (w *watched) has(pattern string) bool {
	w.t.Helper()
	for {
		select {
		case line, ok := <-w.lines:
			require.True(w.t, ok, "the log ended without "+pattern)
			w.seen = append(w.seen, line)
			if regexp.MustCompile(pattern).MatchString(line) {
				return true
			}
		default:
			return false
		}
	}
}
